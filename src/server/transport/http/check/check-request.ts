/** Makes a rate limit request of what a proxy sends to /check. The choice of values is compiled once. */

import type { ByteString, Descriptor, RateLimitRequest } from '../../../../domain/descriptor/descriptor';
import type { DescriptorPlan, EntrySource } from '../../../../domain/descriptor/entry-source';
import { BadRequestError } from '../../../../lib/errors';
import { LIMIT_MAX } from '../../../../domain/rule/limit';
import { compileQuery, DENY_STATUS, type CheckQuery } from './check-query';
import { clientNetwork } from './client-network';
import { normalPath } from './normal-path';

export interface CheckPlan {
  readonly domain: ByteString;
  readonly descriptors: readonly DescriptorPlan[];
  /** How many proxies stand before the one that asks. */
  readonly trustedHops: number;
  /** The header with the hits, in lower case; absent: one hit. */
  readonly hitsHeader?: string;
}

/** The headers of a request as Node gives them: names and values in turn, in the order of the message. */
export type RawHeaders = readonly string[];

/** Reads the question of a proxy. An error never shows a value of the request. */
export interface Check {
  readonly received: RateLimitRequest | BadRequestError;
  /** The HTTP status of a denial. */
  readonly denyStatus: number;
}

/** `target` is the request target of /check, with its query. */
export type ReadCheck = (target: string, headers: RawHeaders) => Check;

const FORWARDED_FOR = 'x-forwarded-for';
const FORWARDED_URI = 'x-forwarded-uri';
const FORWARDED_METHOD = 'x-forwarded-method';
const FORWARDED_HOST = 'x-forwarded-host';

const HITS = /^\d{1,16}$/;

export function compileCheck(plan: CheckPlan): ReadCheck {
  const readQuery = compileQuery(parametersOf(plan));
  const makeRequest = compileRequest(plan);
  return (target, headers) => {
    const query = readQuery(target);
    if (query instanceof BadRequestError) return { received: query, denyStatus: DENY_STATUS };
    return { received: makeRequest(headers, query), denyStatus: query.denyStatus };
  };
}

function parametersOf({ descriptors }: CheckPlan): ReadonlySet<string> {
  return new Set(descriptors.flat().flatMap(({ source }) => (source.from === 'query' ? [source.name] : [])));
}

function compileRequest({
  domain,
  descriptors,
  trustedHops,
  hitsHeader,
}: CheckPlan): (headers: RawHeaders, query: CheckQuery) => Check['received'] {
  const wanted = new WantedHeaders();
  const sources = new Sources({ wanted, trustedHops });
  const recipes = descriptors.map((plan) => plan.map(({ key, source, absent }) => ({ key, index: sources.indexOf(source), absent })));
  const readHits = hitsHeader === undefined ? undefined : compileHits(hitsHeader, wanted);
  return (headers, query) => {
    const found = wanted.of(headers);
    const values = sources.read(found, query);
    const made: Descriptor[] = recipes.map((recipe) => ({
      entries: recipe.map(({ key, index, absent }) => ({ key, value: values[index] ?? absent })),
    }));
    const hits = readHits?.(found);
    if (hits === undefined) return { domain, descriptors: made, hits: 1 };
    if (hits instanceof BadRequestError) return hits;
    // A request counts at least one hit; 0 hits are those of each descriptor.
    if (hits === 0) return { domain, descriptors: made.map(({ entries }) => ({ entries, hits })), hits: 1 };
    return { domain, descriptors: made, hits, saysHits: true };
  };
}

/** The values of the wanted headers, by slot; undefined: none. */
type Found = readonly (Value | undefined)[];

interface Value {
  readonly text: string;
  /** All lines of the header, joined as in HTTP. */
  readonly joined: string;
  readonly isRepeated: boolean;
}

/** Undefined: the request has none. */
type ReadSource = (found: Found, query: CheckQuery) => ByteString | undefined;

class WantedHeaders {
  private readonly slots = new Map<string, number>();

  slotOf(name: string): number {
    const slot = this.slots.get(name) ?? this.slots.size;
    this.slots.set(name, slot);
    return slot;
  }

  of(headers: RawHeaders): Found {
    const found = new Array<Value | undefined>(this.slots.size);
    for (let i = 0; i + 1 < headers.length; i += 2) {
      const slot = this.slots.get((headers[i] ?? '').toLowerCase());
      if (slot === undefined) continue;
      const text = headers[i + 1] ?? '';
      const earlier = found[slot];
      found[slot] =
        earlier === undefined ? { text, joined: text, isRepeated: false } : { text, joined: `${earlier.joined},${text}`, isRepeated: true };
    }
    return found;
  }
}

interface SourcesOptions {
  readonly wanted: WantedHeaders;
  readonly trustedHops: number;
}

/** The values that all descriptors take of a request, each once. */
class Sources {
  private readonly indexes = new Map<string, number>();
  private readonly readers: ReadSource[] = [];

  constructor(private readonly options: SourcesOptions) {}

  indexOf(source: EntrySource): number {
    const id = JSON.stringify(source);
    const known = this.indexes.get(id);
    if (known !== undefined) return known;
    const index = this.readers.push(compileSource(source, this.options)) - 1;
    this.indexes.set(id, index);
    return index;
  }

  read(found: Found, query: CheckQuery): readonly (ByteString | undefined)[] {
    return this.readers.map((read) => read(found, query));
  }
}

function compileSource(source: EntrySource, { wanted, trustedHops }: SourcesOptions): ReadSource {
  switch (source.from) {
    case 'text':
      return () => source.text;
    case 'query':
      return (_, query) => query.values.get(source.name);
    case 'header':
      return single(wanted.slotOf(source.name));
    case 'path':
      return single(wanted.slotOf(FORWARDED_URI), normalPath);
    case 'method':
      return single(wanted.slotOf(FORWARDED_METHOD), (method) => method.toUpperCase());
    case 'host':
      return single(wanted.slotOf(FORWARDED_HOST), normalHost);
    case 'client_ip': {
      const slot = wanted.slotOf(FORWARDED_FOR);
      return (found) => {
        const value = found[slot];
        return value === undefined ? undefined : clientNetwork(value.joined, trustedHops);
      };
    }
  }
}

/** A repeated header counts as absent, because a client may have written one of its values. So does an empty one. */
function single(slot: number, read: (text: string) => string | undefined = (text) => text): ReadSource {
  return (found) => {
    const value = found[slot];
    return value === undefined || value.isRepeated || value.text === '' ? undefined : read(value.text);
  };
}

/** Without the port and the dot at the end. */
function normalHost(host: string): string | undefined {
  const name = host
    .toLowerCase()
    .replace(/:\d{0,5}$/, '')
    .replace(/\.$/, '');
  return name === '' ? undefined : name;
}

/** Undefined: the request names none. */
function compileHits(header: string, wanted: WantedHeaders): (found: Found) => number | BadRequestError | undefined {
  const slot = wanted.slotOf(header);
  return (found) => {
    const value = found[slot];
    if (value === undefined || value.text === '') return undefined;
    const hits = value.isRepeated || !HITS.test(value.text) ? NaN : Number(value.text);
    if (hits <= LIMIT_MAX) return hits;
    return new BadRequestError(`the header ${header} (CHECK_HITS_HEADER) must be one whole number from 0 to ${LIMIT_MAX}`);
  };
}
