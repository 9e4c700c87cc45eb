# SPDX-License-Identifier: BSD-2-Clause
# Checks that an adapter announces what a suite skips on it; sourced.

# Reasons to skip that come from the machine, from a page of DAT or from a fault of one model: no attribute
# announces them.
not_of_the_adapter='^(the provider has no attributes of its own for an endpoint|the transport reads any registered memory: the page leaves the check to it|nothing that this call allocates can fail|that counter [0-9]+ is unknown|only the software ConnectX in process has that command|RLIMIT_MEMLOCK is lower than .*|the address sanitizer cannot .*|not under a sanitizer|a test may not have a network of its own here.*)$'

# Names of a field that dat_ia_query fills in, or of an attribute of 2.0.
of_dat() {
	grep -rqwE "$1;" include/dat/dat.h include/dat/udat.h ||
		{ [ -d /usr/include/dat2 ] && grep -rqE "\\b$1;|\"$1\"" /usr/include/dat2; }
}

# announced NAME VALUE: true if the named attribute has that value, as a provider's attribute or one
# of DAT's own. VALUE none: the provider has no such attribute, and a page documents that.
announced() {
	if grep -q "provider $1: " "$attributes"; then
		grep -qFx "    provider $1: $2" "$attributes"
	elif [ -z "$2" ]; then
		grep -qwh "$1" man/dapl-direct.7 man/dat_ia_query.3
	else
		of_dat "$1"
	fi
}

# unannounced LOG: prints the skips in a suite's verbose log that the adapter does not announce;
# true if there are any. $attributes is the output of dat_info -v for the adapter.
unannounced() {
	local line reason found=1
	while IFS= read -r line; do
		reason=${line#*: }
		reason=${reason#the adapter says }
		[[ $reason != "Test is disabled" && ! $reason =~ $not_of_the_adapter ]] || continue
		[[ $reason =~ ^([A-Za-z_]+)\ (=|is|has)\ ?(.*)$ ]] &&
			announced "${BASH_REMATCH[1]}" "${BASH_REMATCH[3]}" && continue
		echo "skipped without an attribute that announces it: $line"
		found=0
	done < <(grep -a '^\[SKIP\]' "$1")
	return $found
}
