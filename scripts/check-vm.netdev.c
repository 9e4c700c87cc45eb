/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A network interface that carries nothing. It is a child of the first ConnectX, so mlx5_ib takes it
 * for the interface of the adapter's RoCE port, and makes GIDs of its addresses. The software ConnectX
 * has no Ethernet queues, from which mlx5_core would make an interface. Since Linux 6.3, mlx5_ib learns
 * from mlx5_core which interface is the port's.
 */
#include <linux/etherdevice.h>
#include <linux/module.h>
#include <linux/netdevice.h>
#include <linux/pci.h>
#include <linux/version.h>
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 3, 0)
#include <linux/mlx5/driver.h>
#endif

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

#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 3, 0)
static void set_uplink(struct pci_dev *parent, struct net_device *dev)
{
	struct mlx5_core_dev *mdev = pci_get_drvdata(parent);

	if (!mdev)
		return;
	mutex_lock(&mdev->mlx5e_res.uplink_netdev_lock);
	mdev->mlx5e_res.uplink_netdev = dev;
	mutex_unlock(&mdev->mlx5e_res.uplink_netdev_lock);
	mlx5_core_uplink_netdev_event_replay(mdev);
}
#else
static void set_uplink(struct pci_dev *parent, struct net_device *dev)
{
}
#endif

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
	else
		set_uplink(parent, netdev);
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
	set_uplink(to_pci_dev(netdev->dev.parent), NULL);
	unregister_netdev(netdev);
	free_netdev(netdev);
}

module_init(start);
module_exit(end);
MODULE_DESCRIPTION("Network interface of a software RoCE port");
MODULE_LICENSE("Dual BSD/GPL");
