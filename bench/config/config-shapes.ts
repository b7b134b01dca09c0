/** Configurations of any number of rules, flat and nested, with a limit that tells which version is in force. */

import { keyValue } from '../load/calls';

export const DOMAIN = 'bench';
/** The load asks for this key alone, with the value of any rule. */
export const ENTRY_KEY = 'merchant';

export const SHAPES = ['flat', 'nested'] as const;
export type Shape = (typeof SHAPES)[number];

export interface ConfigInput {
  readonly shape: Shape;
  readonly rules: number;
  /** The limit of the first rule: another one for each reload. */
  readonly requests: number;
}

/** `flat`: all rules on the first level; `nested`: all but one below one node. */
export function configText({ shape, rules, requests }: ConfigInput): string {
  const head = `domain: ${DOMAIN}\ndescriptors:\n`;
  if (shape === 'flat') return head + merchants({ indent: '  ', count: rules, requests });
  const first = `  - key: ${ENTRY_KEY}\n    rate_limit:\n      unit: minute\n      requests_per_unit: 1000000\n`;
  return `${head}${first}  - key: plan\n    value: gold\n    descriptors:\n${merchants({ indent: '      ', count: rules - 1, requests })}`;
}

/** The entries of the rule whose limit is `requests`. */
export function firstRule(shape: Shape): Readonly<Record<string, string>> {
  const merchant = { [ENTRY_KEY]: keyValue(0) };
  return shape === 'flat' ? merchant : { plan: 'gold', ...merchant };
}

function merchants({ indent, count, requests }: { readonly indent: string; readonly count: number; readonly requests: number }): string {
  const rule = (_: unknown, i: number): string =>
    `${indent}- key: ${ENTRY_KEY}\n${indent}  value: ${keyValue(i)}\n${indent}  rate_limit:\n${indent}    unit: minute\n${indent}    requests_per_unit: ${i === 0 ? requests : 1_000_000 + i}\n`;
  return Array.from({ length: count }, rule).join('');
}
