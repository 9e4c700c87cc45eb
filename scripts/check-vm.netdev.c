/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A network interface that carries nothing. It is a child of the first ConnectX, so mlx5_ib takes it
 * for the interface of the adapter's RoCE port, and makes GIDs of its addresses. The software ConnectX
 * has no Ethernet queues, from which mlx5_core would make an interface.
 */
#include <linux/etherdevice.h>
#include <linux/module.h>
#include <linux/netdevice.h>
#include <linux/pci.h>

static char *mac = "";
module_param(mac, charp, 0);
static struct net_device *netdev;

static netdev_tx_t drop(struct sk_buff *skb, struct net_device *dev)
{
	dev_kfree_skb(skb);
	return NETDEV_TX_OK;
}

static const struct net_device_ops ops = {
	.ndo_start_xmit = drop,
	.ndo_set_mac_address = eth_mac_addr,
	.ndo_validate_addr = eth_validate_addr,
};

static int register_below(struct pci_dev *parent)
{
	u8 addr[ETH_ALEN];
	int err;

	netdev = alloc_etherdev(0);
	if (!netdev)
		return -ENOMEM;
	netdev->netdev_ops = &ops;
	netdev->max_mtu = 9000;
	SET_NETDEV_DEV(netdev, &parent->dev);
	strscpy(netdev->name, "roce%d", IFNAMSIZ);
	if (!mac_pton(mac, addr))
		eth_random_addr(addr);
	eth_hw_addr_set(netdev, addr);
	err = register_netdev(netdev);
	if (err)
		free_netdev(netdev);
	return err;
}

static int __init start(void)
{
	struct pci_dev *parent = pci_get_device(0x15b3, PCI_ANY_ID, NULL);
	int err = parent ? register_below(parent) : -ENODEV;

	pci_dev_put(parent);
	return err;
}

static void __exit end(void)
{
	unregister_netdev(netdev);
	free_netdev(netdev);
}

module_init(start);
module_exit(end);
MODULE_DESCRIPTION("Network interface of a software RoCE port");
MODULE_LICENSE("Dual BSD/GPL");
