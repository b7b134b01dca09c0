/** Reads the resources of one response of a management server, in an order that does not depend on the server, and reports invalid ones. */

import { createHash } from 'node:crypto';
import type { ReadDocument } from '../../yaml/config-document';
import type { ConfigProblem } from '../../problems/config-error';
import { runInSlices } from '../../../lib/slices';
import { show } from '../../../lib/quote';
import { toTape } from './to-tape';
import { BoundError, CONFIG_DESCRIPTORS_MAX, type DescriptorBudget, type DecodeConfig } from './decode-config';
import { RESOURCES_MAX } from './decode-response';
import { RATE_LIMIT_CONFIG_TYPE } from './proto';
import type { WireAny, WireDiscoveryResponse } from './wire';

/** Names that need no quotes in messages. */
const PLAIN_NAME = /^[!-~]{1,200}$/;

export interface ResourceSet {
  /** The server's name of the version. */
  readonly version: string;
  readonly documents: readonly ReadDocument[];
  readonly problems: readonly ConfigProblem[];
  /** Identical for the same resources in any order. */
  readonly digest: string;
}

interface Read {
  readonly typeUrl: string;
  readonly name: string;
  readonly bytes: Uint8Array;
  readonly document?: ReadDocument;
  readonly problem?: ConfigProblem;
}

/** Never rejects: invalid resources are problems. */
export async function readResourceSet(response: WireDiscoveryResponse, decodeConfig: DecodeConfig): Promise<ResourceSet> {
  const { version_info: version = '', resources = [], type_url: typeUrl = '' } = response;
  const reads = await runInSlices(readAll(resources.slice(0, RESOURCES_MAX), decodeConfig));
  // Servers may use a different order each time.
  reads.sort((one, other) => compare(one.name, other.name) || Buffer.compare(one.bytes, other.bytes));
  return {
    version,
    documents: reads.flatMap(({ document }) => document ?? []),
    problems: [...problemsOfAll(resources.length, typeUrl), ...reads.flatMap(({ problem }) => problem ?? [])],
    digest: digestOf(`${resources.length}|${typeUrl}`, reads),
  };
}

function* readAll(resources: readonly WireAny[], decodeConfig: DecodeConfig): Generator<undefined, Read[]> {
  const reads: Read[] = [];
  const budget = { descriptors: CONFIG_DESCRIPTORS_MAX };
  for (const [index, any] of resources.entries()) {
    reads.push(yield* readResource(any, { index, decodeConfig, budget }));
    yield;
  }
  return reads;
}

function* readResource(
  { type_url: typeUrl = '', value: bytes = new Uint8Array() }: WireAny,
  { index, decodeConfig, budget }: ReadInput,
): Generator<undefined, Read> {
  const place = `resources[${index}]`;
  const refuse = (message: string): Read => ({ typeUrl, name: '', bytes, problem: { file: place, line: 0, column: 0, path: '', message } });
  if (typeUrl !== RATE_LIMIT_CONFIG_TYPE) return refuse(`is of type ${show(typeUrl)}; send ${RATE_LIMIT_CONFIG_TYPE}`);
  try {
    const config = yield* decodeConfig(bytes, budget);
    const { name = '' } = config;
    const shown = PLAIN_NAME.test(name) ? name : show(name);
    return { typeUrl, name, bytes, document: { name: name === '' ? place : shown, tape: yield* toTape(config) } };
  } catch (error) {
    if (error instanceof BoundError) return refuse(error.message);
    return refuse('is not a RateLimitConfig, or is nested too deep; check the output of the management server');
  }
}

interface ReadInput {
  readonly index: number;
  readonly decodeConfig: DecodeConfig;
  /** Shared by the whole response. */
  readonly budget: DescriptorBudget;
}

function problemsOfAll(count: number, typeUrl: string): ConfigProblem[] {
  const problems: ConfigProblem[] = [];
  const report = (message: string) => {
    problems.push({ file: 'the response', line: 0, column: 0, path: '', message });
  };
  if (count > RESOURCES_MAX) report(`holds over ${RESOURCES_MAX} resources; send fewer`);
  if (typeUrl !== '' && typeUrl !== RATE_LIMIT_CONFIG_TYPE)
    report(`is of type ${show(typeUrl)}, but Weir subscribed to another type; send ${RATE_LIMIT_CONFIG_TYPE}`);
  return problems;
}

function digestOf(head: string, reads: readonly Read[]): string {
  const hash = createHash('sha256').update(head);
  for (const { typeUrl, bytes } of reads) hash.update(`|${typeUrl}|${bytes.length}|`).update(bytes);
  return hash.digest('hex');
}

function compare(one: string, other: string): number {
  return one < other ? -1 : Number(one > other);
}
