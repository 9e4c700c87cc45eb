/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ia_params: any text is read with the table of each backend, or refused with a reason. The place that
 * dat_info(1) names is in the text. Both readers of the device agree on which texts select one.
 *
 * Judges: core/param.c hw_mlx5/params.c hw_efa/params.c
 */
#include "core/param.h"
#include "hw_efa/params.h"
#include "hw_mlx5/params.h"
#include "tests/fuzz/fuzz.h"

static void check(const char *text, const struct dap_param *table, void *out)
{
	char why[256] = "";
	const char *at = text;
	int err = dap_params_check(text, table, out, &at, why, sizeof(why));

	FUZZ_ASSERT(err <= 0 && !*why == !err);
	FUZZ_ASSERT(at >= text && at <= text + strlen(text));
	FUZZ_ASSERT(memchr(why, '\0', sizeof(why)));
}

static void select_device(const char *text)
{
	struct dap_core_params core;
	char device[80] = "x", why[256] = "";
	int err = dap_params_device(text, device, sizeof(device), why, sizeof(why));

	dap_params_core(text, &core);
	FUZZ_ASSERT(err <= 0 && !*why == !err);
	FUZZ_ASSERT(memchr(core.device, '\0', sizeof(core.device)));
	FUZZ_ASSERT(err || strlen(device) < sizeof(core.device) + 4);
	if (!err && *core.device)
		FUZZ_ASSERT(!strncmp(device, core.device, strlen(core.device)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1), why[256];
	struct m5_params m5;
	struct efa_params efa;

	FUZZ_ASSERT(text);
	memcpy(text, data, size);
	text[size] = '\0';
	memset(&m5, 0, sizeof(m5));
	memset(&efa, 0, sizeof(efa));
	check(text, m5_param_table, &m5);
	check(text, efa_param_table, &efa);
	m5_params_parse(text, &m5, why, sizeof(why));
	efa_params_parse(text, &efa, why, sizeof(why));
	select_device(text);
	free(text);
	return 0;
}
