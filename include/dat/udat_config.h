/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 dapl-direct authors */

/*
 * udat_config.h - the API level that a consumer compiles against.
 */
#ifndef _UDAT_CONFIG_H_
#define _UDAT_CONFIG_H_

#define DAT_VERSION_MAJOR 1
#define DAT_VERSION_MINOR 2

/*
 * The thread safety that dat_ia_open() requests. DAT_FALSE is the default in all public 1.2
 * headers. For a threadsafe provider, compile with -DDAT_THREADSAFE=DAT_TRUE or call
 * dat_ia_openv().
 */
#ifndef DAT_THREADSAFE
#define DAT_THREADSAFE DAT_FALSE
#endif

#endif /* _UDAT_CONFIG_H_ */
