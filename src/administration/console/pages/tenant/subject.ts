/** Whom the tenant page is about: a descriptor, and what the admin API says about it. */

import { call, type Reply } from '../../api/client';
import type { Entry } from '../../../admin-client/operations';

export interface Subject {
  readonly domain: string;
  readonly entries: readonly Entry[];
}

export type Explained = Reply<'explainRequest'>;

export type Bucket = Explained['buckets'][number];

export type ControlRecord = Explained['control'][number];

/** A record that support ends by deleting it. */
export type EndableRecord = ControlRecord & { readonly kind: 'override' | 'block' | 'pass' };

export function isEndable(record: ControlRecord): record is EndableRecord {
  return record.kind === 'override' || record.kind === 'block' || record.kind === 'pass';
}

export type LimitInForce = Explained['explanation']['descriptors'][number]['limits'][number];

export function explain({ domain, entries }: Subject, signal?: AbortSignal): Promise<Explained> {
  return call('explainRequest', { body: { domain, descriptors: [{ entries: [...entries] }] } }, signal === undefined ? {} : { signal });
}

export function limitsOf(explained: Explained): readonly LimitInForce[] {
  return explained.explanation.descriptors[0]?.limits ?? [];
}

const GIVERS: Readonly<Record<LimitInForce['source']['from'], string>> = {
  rule: 'rule',
  plan: 'plan',
  plan_values: 'values of the plan at run time',
  override: 'override',
  request: 'the request',
};

/** Where the limit comes from, in words. */
export function sourceText({ source: { from, record } }: LimitInForce): string {
  return record === undefined ? GIVERS[from] : `${GIVERS[from]} ${record.id}`;
}

/** `limits.yaml:12`; undefined: the configuration has none. */
export function placeText({ source: { file, line } }: LimitInForce): string | undefined {
  if (file === undefined) return undefined;
  return line === undefined ? file : `${file}:${line}`;
}
