/** Whom the tenant page is about: a descriptor, and what the admin API says about it. */

import { call, type Reply } from '../../api/client';
import type { Entry } from '../../api/descriptor-text';

export interface Subject {
  readonly domain: string;
  readonly entries: readonly Entry[];
}

export type Explained = Reply<'explainRequest'>;

export type Bucket = Explained['buckets'][number];

export type ControlRecord = Explained['control'][number];

/** A limit that applies, as the explanation has it. */
export interface LimitInForce {
  readonly name: string;
  readonly requests_per_unit: number;
  readonly unit: string;
  readonly unit_multiplier?: number;
  readonly bucket_key: string;
  readonly source?: LimitSource;
}

export interface LimitSource {
  readonly from: string;
  readonly record?: string;
  readonly file?: string;
  readonly line?: number;
  readonly replaces?: { readonly requests_per_unit: number; readonly unit: string; readonly unit_multiplier?: number };
}

export function explain({ domain, entries }: Subject, signal?: AbortSignal): Promise<Explained> {
  return call('explainRequest', { body: { domain, descriptors: [{ entries: [...entries] }] } }, signal === undefined ? {} : { signal });
}

export function limitsOf(explained: Explained): readonly LimitInForce[] {
  return explained.explanation.descriptors[0]?.limits ?? [];
}

/** The place in the configuration that wins at the last level. */
export function placeOf(explained: Explained): string | undefined {
  const levels = (explained.explanation.descriptors[0]?.levels ?? []) as readonly {
    readonly winner?: { readonly file: string; readonly line: number };
  }[];
  const winner = levels[levels.length - 1]?.winner;
  return winner && `${winner.file}:${winner.line}`;
}

const GIVERS: Readonly<Record<string, string>> = {
  rule: 'rule',
  plan: 'plan',
  plan_values: 'plan with values of control data',
  override: 'override',
  request: 'request',
};

/** Where the limit comes from, in words. */
export function sourceText(limit: LimitInForce, explained: Explained): string {
  const { source } = limit;
  if (source !== undefined) {
    const place = source.file === undefined ? '' : `, ${source.file}${source.line === undefined ? '' : `:${source.line}`}`;
    return `${GIVERS[source.from] ?? source.from}${source.record === undefined ? '' : ` ${source.record}`}${place}`;
  }
  const override = explained.control.find(({ kind }) => kind === 'override');
  if (override !== undefined) return `override ${override.id}`;
  const plan = explained.explanation.descriptors[0]?.plan;
  const place = placeOf(explained);
  return `${plan === undefined ? 'rule' : `plan ${plan}`}${place === undefined ? '' : `, ${place}`}`;
}
