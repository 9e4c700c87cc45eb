# SPDX-License-Identifier: BSD-2-Clause
# Generates two tables from tests/data/return-codes.tsv and scripts/prototypes: each call in a form
# that a loop can make, with an array of values as its arguments; and a row of bad_input.c for each
# call.

FILENAME ~ /\.tsv$/ {
	if ($1 !~ /^#/) {
		page = $1
		sub(/^[^ \t]+[ \t]*/, "")
		codes[page] = $0
	}
	next
}

function member(type) {
	if (type ~ /_HANDLE$|_PTR$|^DAT_PVOID$/)
		return "ptr"
	if (type ~ /^(DAT_CONTEXT|DAT_DTO_COOKIE|DAT_RMR_COOKIE)$/)
		return "context"
	if (type == "DAT_REGION_DESCRIPTION")
		return "region"
	if (type == "DAT_OS_WAIT_PROXY_AGENT")
		return "agent"
	return ""
}

$1 == "DAT_RETURN" {
	line = $0
	sub(/^DAT_RETURN /, "", line)
	call = line
	sub(/\(.*/, "", call)
	sub(/^[^(]*\(/, "", line)
	sub(/\);$/, "", line)
	n = split(line, params, ", ")
	short = substr(call, 5)
	args = rows = ""
	for (i = 1; i <= n; i++) {
		p = params[i]
		dir = p
		sub(/ .*/, "", dir)
		sub(/^[A-Z]+ (const )?/, "", p)
		type = p
		sub(/ .*/, "", type)
		far = p ~ /\*/
		name = p
		gsub(/[][()*]/, "", name)
		sub(/.* /, "", name)
		m = far ? "ptr" : member(type)
		v = "v[" (i - 1) "]"
		args = args (i > 1 ? ", " : "") (m ? v "." m : "(" type ")" v ".n")
		rows = rows sprintf("\t{ \"%s\", \"%s\", ARG_%s, %d },\n", name, type, dir, far)
	}
	page = call == "dat_ia_openv" ? "dat_ia_open" : call
	printf "static DAT_RETURN %s_do(const union value *v)\n{\n\treturn %s(%s);\n}\n", short, call, args
	printf "static const struct param %s_params[] = {\n%s};\n", short, rows
	printf "static const struct call %s_call = {\n\t\"%s\", \"%s\", %s_do, %s_params, %d, \" %s \"\n};\n",
		short, call, page, short, short, n, codes[page]
	printf "STATEMENT_ROW(%s__bad_input, %s, RETURNS, bad_input, &%s_call);\n\n", short, page, short
}
