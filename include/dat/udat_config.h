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
 * The thread safety that dat_ia_open() asks the registry for. Every public 1.2 header has
 * made DAT_FALSE the default, so a program that wants a threadsafe provider says
 * -DDAT_THREADSAFE=DAT_TRUE, or calls dat_ia_openv().
 */
#ifndef DAT_THREADSAFE
#define DAT_THREADSAFE DAT_FALSE
#endif

#endif /* _UDAT_CONFIG_H_ */
