#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Each check of sh/man and sh/man-words detects an error: the pages of a copy of the tree have one of each.
# Slow: only with DAPL_ALL=1.
set -u
. tests/harness/skip.sh
command -v mandoc >/dev/null || skip "mandoc is not installed"
status=0
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
cp -r include man tests scripts "$tmp"
cd "$tmp" || exit 1
complaints=() expected=()

# planted COMPLAINT WORDS PAGE SED: edits the page. The check must then report this complaint, with these words in one
# of its lines.
planted() {
	complaints+=("$1")
	expected+=("$2")
	cp "man/$3" page
	sed -i "$4" "man/$3"
	cmp -s page "man/$3" && { echo "man/$3 has not what is to be edited: $4"; status=1; }
}

# refused CHECK: the check has all complaints since the last call
refused() {
	local said i
	said=$(bash "tests/sh/$1.sh" 2>&1) && { echo "tests/sh/$1.sh accepts the errors"; status=1; }
	for i in "${!complaints[@]}"; do
		awk -v text="${complaints[i]}" '/:$/ && !/^man\// { inside = index($0, text); next } inside || text == ""' <<<"$said" |
			grep -qF -- "${expected[i]}" && continue
		echo "tests/sh/$1.sh does not report \"${complaints[i]}\" with ${expected[i]}"
		echo "$said"
		status=1
	done
	complaints=() expected=()
}

planted "have no manual page" dat_pz_free dat_pz_free.3 's/^\.Nm dat_pz_free/.Nm dat_pz_frei/'
planted "-T lint reports" Xy dat_pz_query.3 '$a.Xy'
planted "pages that do not exist" dat_nowhere.3 dat_pz_query.3 '$a.Xr dat_nowhere 3'
planted "no SPDX line" dat_pz_create.3 dat_pz_create.3 1d
planted "not in the SYNOPSIS" dat_info.1 dat_info.1 's/^\.Op Fl jlpv/.Op Fl jpv/'
planted "prototypes of pages" "DAT_EP_HANDLE lmr_handle" dat_lmr_free.3 's/DAT_LMR_HANDLE lmr_handle/DAT_EP_HANDLE lmr_handle/'
planted "constants that no header has" DAT_NO_SUCH_NAME dat_lmr_query.3 '$a.Dv DAT_NO_SUCH_NAME'
planted "do not list these codes" "dat_rmr_free: DAT_INVALID_HANDLE" dat_rmr_free.3 '/^\.It Er DAT_INVALID_HANDLE$/d'
planted "errors of pages and headers" "dat_ep_free DAT_QUEUE_FULL" dat_ep_free.3 's/^\.It Er DAT_INVALID_STATE$/& Er DAT_QUEUE_FULL/'
planted "do not compile" no_such_name dat_evd_wait.3 's/^\.Bd -literal.*/&\nno_such_name++;/'
refused man
planted "" '"No" is not printed' dat_lmr_free.3 's/^\.Sh DESCRIPTION/&\n.Ss No such LMR/'
refused man-words
exit $status
