/* SPDX-License-Identifier: MIT */
/* The head of the report: nothing is loaded, no script runs, and colours follow the reader's. */
#ifndef KODA_CLI_REPORT_STYLE_H
#define KODA_CLI_REPORT_STYLE_H

/* clang-format off */
static const char cli_report_head[] =
"<!DOCTYPE html>\n"
"<html lang=\"en\">\n"
"<head>\n"
"<meta charset=\"utf-8\">\n"
"<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'\">\n"
"<meta name=\"referrer\" content=\"no-referrer\">\n"
"<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
"<meta name=\"color-scheme\" content=\"light dark\">\n"
"<title>koda-sandbox report</title>\n"
"<style>\n"
":root { color-scheme: light dark; --page: #f6f7f9; --card: #fff; --text: #1b1f24; --soft: #5b6570; --line: #dfe3e8;\n"
"  --ok: #1a7f4b; --failed: #b35900; --denied: #c0282d; --track: #eceff3; --mark: #f1f3f6; }\n"
"@media (prefers-color-scheme: dark) {\n"
"  :root { --page: #111418; --card: #1a1f25; --text: #e4e8ed; --soft: #97a2af; --line: #2d343d;\n"
"    --ok: #4cc38a; --failed: #f0a04b; --denied: #ff7b72; --track: #252b33; --mark: #232930; }\n"
"}\n"
"* { box-sizing: border-box; }\n"
"body { margin: 0; background: var(--page); color: var(--text); font: 15px/1.5 system-ui, sans-serif; }\n"
"main { max-width: 1120px; margin: 0 auto; padding: 32px 20px 64px; }\n"
"h1 { margin: 0; font-size: 26px; } h2 { margin: 36px 0 10px; font-size: 18px; }\n"
"p { margin: 4px 0; } .soft { color: var(--soft); }\n"
".cards { display: grid; grid-template-columns: repeat(auto-fit, minmax(150px, 1fr)); gap: 12px; margin-top: 22px; }\n"
".card, .table { background: var(--card); border: 1px solid var(--line); border-radius: 10px; }\n"
".card { padding: 12px 16px; } .card b { display: block; font-size: 24px; line-height: 1.3; }\n"
".table { overflow-x: auto; }\n"
"table { width: 100%; border-collapse: collapse; }\n"
"th, td { padding: 8px 12px; text-align: left; vertical-align: top; border-top: 1px solid var(--line); }\n"
"thead th { border-top: 0; color: var(--soft); font-size: 13px; font-weight: 600; }\n"
".number { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums; }\n"
"code { font: 13px/1.45 ui-monospace, monospace; background: var(--mark); border-radius: 4px; padding: 1px 5px;\n"
"  overflow-wrap: anywhere; white-space: pre-wrap; }\n"
"a { color: inherit; }\n"
".bar { display: block; width: 100%; min-width: 160px; height: 12px; margin-top: 5px; border-radius: 6px; background: var(--track); }\n"
"rect.ok { fill: var(--ok); } rect.failed { fill: var(--failed); } rect.denied { fill: var(--denied); }\n"
".badge { display: inline-block; border: 1px solid; border-radius: 999px; padding: 0 9px; font-size: 13px; white-space: nowrap; }\n"
".ok { color: var(--ok); } .failed { color: var(--failed); } .denied { color: var(--denied); }\n"
"tr:target { background: var(--mark); }\n"
"@media print { body { background: none; } }\n"
"</style>\n"
"</head>\n"
"<body>\n"
"<main>\n";
/* clang-format on */

#endif
