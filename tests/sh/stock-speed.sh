#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# scripts/stock-speed computes medians and ratios alike in a locale whose decimal point is a comma. All programs are
# scripts here, which print rows of fixed figures.
set -u
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
mkdir -p "$tmp"/{bin,locales}
localedef -i de_DE -f UTF-8 "$tmp/locales/de_DE.UTF-8" >"$tmp/out" 2>&1 || { echo "localedef makes no locale"; exit 77; }
cat >"$tmp/bin/softnic-run" <<'END'
#!/bin/sh
for last; do :; done
case $last in
127.0.0.1) ;;
*) echo "Waiting for client"; exit ;;
esac
case $1 in
*pingpong) echo "1000 iters in 0.01 seconds = 9.80 usec/iter" ;;
ib*) echo " 8 1000 1.50 3.90 1.20 1.40" ;;
*) echo " 8 1000 1.25 1.95 1.80 1.90" ;;
esac
END
chmod +x "$tmp/bin/softnic-run"
cp "$tmp/bin/softnic-run" "$tmp/bin/ib_write_lat"
cp "$tmp/bin/softnic-run" "$tmp/bin/ibv_rc_pingpong"
LOCPATH=$tmp/locales LC_ALL=de_DE.UTF-8 ROUNDS=2 PATH=$tmp/bin:$PATH timeout 100 scripts/stock-speed "$tmp" >"$tmp/out" 2>&1
status=$?
for row in 'ping-pong.* 4\.9 | .* 1\.80 | us | 0\.37 |' 'send latency.* 1\.20 | .* 1\.80 | us | 1\.50 |' \
	'read bandwidth.* 3\.90 | .* 1\.95 | MB/s | 0\.50 |'; do
	[ $status = 0 ] && grep -q "^| $row" "$tmp/speed.md" && continue
	echo "status $status, or no row $row:"
	cat "$tmp/out"
	exit 1
done
