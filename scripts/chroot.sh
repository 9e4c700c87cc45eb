# SPDX-License-Identifier: BSD-2-Clause
# For scripts/deb and scripts/check-arm64, which source this: bare Debian systems in $work, and commands
# inside them. MIRROR= names another mirror.
mirror=${MIRROR:-http://deb.debian.org/debian}
version=$(sed -n 's/^AC_INIT(\[dapl-direct\], \[\(.*\)\])$/\1/p' configure.ac)

die() {
	echo "${0##*/}: $*" >&2
	exit 1
}

[ "$(id -u)" = 0 ] || die "needs root, for chroots: sudo make ${0##*/}"
for program in debootstrap unshare ip; do
	command -v $program >/dev/null || die "$program is missing: scripts/deps.sh --chroot installs it"
done

# inside ROOT COMMAND...: runs the command in this chroot, with its own mounts and processes
inside() {
	local root=$1
	shift
	unshare --mount --pid --fork --kill-child sh -c '
		root=$1; shift
		mount -t proc proc "$root/proc" && mount -t tmpfs shm "$root/dev/shm" || exit 1
		exec env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive \
			chroot "$root" "$@"' sh "$root" "$@"
}

# alone ROOT COMMAND...: does the same, also with a network of its own, which has loopback only
alone() {
	local program
	program=$(declare -f inside)
	unshare --net bash -c "ip link set lo up; $program; inside \"\$@\"" bash "$@"
}

apt() { inside "$1" apt-get -y -q --no-install-recommends "${@:2}" </dev/null; }

# fresh SUITE NAME: prints the root of a new bare system
fresh() {
	local base=$work/$1-base root=$work/$1-$2
	if [ ! -e "$base/.complete" ]; then
		rm -rf "$base"
		debootstrap --variant=minbase "$1" "$base" "$mirror" >"$work/$1-debootstrap.log" 2>&1 ||
			die "debootstrap fails: see $work/$1-debootstrap.log"
		touch "$base/.complete"
	fi
	rm -rf "$root"
	cp -a "$base" "$root"
	rm "$root/.complete"
	apt "$root" update >&2
	apt "$root" dist-upgrade >&2
	echo "$root"
}

# Adds the tracked files as they are now, and the changelog, which is not tracked.
source_tree() {
	local to=$1 tree date
	mkdir -p "$to"
	if git rev-parse -q --verify HEAD >/dev/null 2>&1; then
		tree=$(git stash create)
		git archive "${tree:-HEAD}" | tar -x -C "$to"
		date=$(git log -1 --format=%cD)
	else
		tar -c --exclude="./${build##*/}" . | tar -x -C "$to"
		date=$(date -R -r CHANGELOG.md)
	fi
	printf 'dapl-direct (%s) unstable; urgency=medium\n\n  * See CHANGELOG.md.\n\n -- %s  %s\n' "$version" \
		"$(sed -n 's/^Maintainer: //p' debian/control)" "$date" >"$to/debian/changelog"
}

# step SUITE FUNCTION: its output is in a log, the end of which is shown if it fails. Not in a condition, where
# set -e has no effect.
step() {
	local log=$work/$1-$2.log
	"$2" "$1" >"$log" 2>&1 &
	wait $! && return
	tail -n 30 "$log"
	die "$1: $2 failed: see $log"
}
