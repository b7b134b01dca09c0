/** The lines of the file that keeps local shares over a restart: a head, then one account each. */

import { TRAITS, type BucketAlgorithm } from '../../domain/algorithm/algorithms';
import type { BucketLimit } from '../../domain/bucket/take';
import { WINDOW_US_MAX } from '../../domain/descriptor/unit';
import { LIMIT_MAX } from '../../domain/rule/limit';
import type { KeptAccount } from './fallback-ledger';
import { NO_REFUND, type SentRefund } from './late-refund';

/** Written by this version of Weir, and the only format it reads. */
const FORMAT = 1;

/** Bytes that the head has at most. */
export const HEAD_BYTES_MAX = 1_024;

const INSTANCES_MAX = 1_000_000;
const KEY = /^[!-~]{1,4096}$/;
const EDGES_MAX = 64;
/** Slots of all accounts, because each of them takes memory. */
const SLOTS_MAX = 500_000;

export interface OutageHead {
  /** `CACHE_KEY_PREFIX`: with another one, the keys are those of other limits. */
  readonly prefix: string;
  /** The instances that were counted last. */
  readonly instances: number;
}

export function headLine({ prefix, instances }: OutageHead): string {
  return JSON.stringify({ weir_outage: FORMAT, prefix, instances });
}

/** Undefined: it is not the first line of such a file. */
export function readHeadLine(line: string): OutageHead | undefined {
  try {
    const { weir_outage: format, prefix, instances } = JSON.parse(line) as Readonly<Record<string, unknown>>;
    if (format !== FORMAT || typeof prefix !== 'string') return undefined;
    return { prefix, instances: readNumber(instances, 'instances', { min: 1, max: INSTANCES_MAX }) };
  } catch {
    return undefined;
  }
}

export function accountLine({ limit, refunds, ...account }: KeptAccount): string {
  const { algorithm, windowUs, requestsPerUnit, capacity, edgesUs } = limit;
  return JSON.stringify({
    ...account,
    limit: { algorithm, windowUs, requestsPerUnit, capacity, edgesUs },
    ...(refunds.hits > 0 && { refunds }),
  });
}

/**
 * The accounts of lines after the head.
 *
 * @throws Error if a line is not an account
 */
export function readAccounts(lines: readonly string[]): KeptAccount[] {
  let slots = 0;
  return lines.map((line) => {
    const account = readAccount(line);
    if (TRAITS[account.limit.algorithm].holds === 'slots') slots += account.used;
    if (slots > SLOTS_MAX) throw new Error('it has too many slots');
    return account;
  });
}

function readAccount(line: string): KeptAccount {
  const { bucketKey, limit, instances, used, atUs, overdraftMax, owed, refunds } = readObject(JSON.parse(line), 'a line');
  if (typeof bucketKey !== 'string' || !KEY.test(bucketKey)) throw new Error('bucketKey is not a key');
  const account = {
    bucketKey,
    limit: readLimit(limit),
    instances: readNumber(instances, 'instances', { min: 1, max: INSTANCES_MAX }),
    used: readNumber(used, 'used'),
    atUs: readNumber(atUs, 'atUs'),
    owed: readNumber(owed, 'owed'),
    refunds: refunds === undefined ? NO_REFUND : readRefunds(refunds),
  };
  return overdraftMax === undefined ? account : { ...account, overdraftMax: readNumber(overdraftMax, 'overdraftMax') };
}

function readRefunds(value: unknown): SentRefund {
  const { hits, takenAtUs } = readObject(value, 'refunds');
  return { hits: readNumber(hits, 'hits'), takenAtUs: readNumber(takenAtUs, 'takenAtUs') };
}

function readLimit(value: unknown): BucketLimit {
  const { algorithm, windowUs, requestsPerUnit, capacity, edgesUs } = readObject(value, 'limit');
  if (!isAlgorithm(algorithm)) throw new Error('algorithm is not the name of one');
  const limit = {
    algorithm,
    windowUs: readNumber(windowUs, 'windowUs', { min: 1, max: WINDOW_US_MAX }),
    requestsPerUnit: readNumber(requestsPerUnit, 'requestsPerUnit'),
    capacity: readNumber(capacity, 'capacity', { max: TRAITS[algorithm].recordsMax ?? LIMIT_MAX }),
  };
  return edgesUs === undefined ? limit : { ...limit, edgesUs: readEdges(edgesUs) };
}

function readEdges(value: unknown): number[] {
  if (!Array.isArray(value) || value.length < 2 || value.length > EDGES_MAX) throw new Error('edgesUs is not a list of edges');
  const edges = value.map((edge: unknown) => readNumber(edge, 'an edge'));
  if (edges.some((edge, i) => edge <= (edges[i - 1] ?? -1))) throw new Error('edgesUs does not ascend');
  return edges;
}

function isAlgorithm(value: unknown): value is BucketAlgorithm {
  return typeof value === 'string' && Object.hasOwn(TRAITS, value);
}

function readObject(value: unknown, name: string): Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null) throw new Error(`${name} is not an object`);
  return value as Readonly<Record<string, unknown>>;
}

interface Range {
  readonly min?: number;
  readonly max?: number;
}

function readNumber(value: unknown, name: string, { min = 0, max = Number.MAX_SAFE_INTEGER }: Range = {}): number {
  if (!Number.isSafeInteger(value) || (value as number) < min || (value as number) > max) throw new Error(`${name} is out of range`);
  return value as number;
}
