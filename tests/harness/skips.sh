# SPDX-License-Identifier: BSD-2-Clause
# What a suite skips on an adapter is announced by that adapter; sourced.

# Of the machine or of a page of DAT, and of no adapter. A counter is unknown by its own value.
not_of_the_adapter='^(the provider has no attributes of its own for an endpoint|the transport reads any registered memory: the page leaves the check to it|nothing that this call allocates can fail|that counter [0-9]+ is unknown|RLIMIT_MEMLOCK is lower than .*|the address sanitizer cannot .*|not under a sanitizer|a test may not have a network of its own here.*)$'

# A field of what dat_ia_query fills in, or an attribute of 2.0 by name.
of_dat() {
	grep -rqwE "$1;" include/dat/dat.h include/dat/udat.h ||
		{ [ -d /usr/include/dat2 ] && grep -rqE "\\b$1;|\"$1\"" /usr/include/dat2; }
}

# announced NAME VALUE: by a named attribute with that value (none: the provider has no such attribute,
# and a page names it), or by DAT's own.
announced() {
	if grep -q "provider $1: " "$attributes"; then
		grep -qFx "    provider $1: $2" "$attributes"
	elif [ -z "$2" ]; then
		grep -qwh "$1" man/dapl-direct.7 man/dat_ia_query.3
	else
		of_dat "$1"
	fi
}

# unannounced LOG: names what a suite's verbose log skips for a reason that the adapter does not tell;
# true when there is such a test. $attributes: what dat_info -v says of the adapter.
unannounced() {
	local line reason found=1
	while IFS= read -r line; do
		reason=${line#*: }
		reason=${reason#the adapter says }
		[[ $reason != "Test is disabled" && ! $reason =~ $not_of_the_adapter ]] || continue
		[[ $reason =~ ^([A-Za-z_]+)\ (=|is|has)\ ?(.*)$ ]] &&
			announced "${BASH_REMATCH[1]}" "${BASH_REMATCH[3]}" && continue
		echo "no attribute announces: $line"
		found=0
	done < <(grep -a '^\[SKIP\]' "$1")
	return $found
}
