/** Reads a file of tests, and reports every mistake with its line. */

import { toByteString } from '../../../../domain/descriptor/byte-string';
import { HITS_MAX, type Descriptor, type RateLimitRequest } from '../../../../domain/descriptor/descriptor';
import { US_PER_MS } from '../../../../lib/time-units';
import { openDocument } from '../../../../configuration/yaml/config-document';
import type { ConfigNode } from '../../../../configuration/yaml/config-node';
import type { ConfigFile } from '../../../../configuration/yaml/yaml-text';
import type { ProblemList } from '../../../../configuration/problems/problem-list';
import type { ReservationStep } from '../../../offline/virtual-service';
import { NodeReader, type Fields } from './node-reader';
import { readExpectation } from './read-expectation';
import { readFixture } from './read-fixture';
import { readTestDescriptor } from './read-test-descriptor';
import type { Test, TestFile, TestRequest } from './test-file';
import { readDurationUs, readInstantUs, TIME_US_MAX } from './virtual-time';

/** 2026-01-01T00:00:00Z. */
const DEFAULT_START_US = Date.UTC(2026, 0, 1) * 1_000;

/** Repetitions of a request. */
export const TIMES_MAX = 1_000_000;

/** Requests of a file with their repetitions: about a minute of work. */
export const REQUESTS_MAX = 10_000_000;

export const FILE_FIELDS = ['configuration', 'start', 'records', 'tests'];
export const TEST_FIELDS = ['name', 'start', 'requests'];

/** Each holds the id of a reservation. */
export const STEP_KINDS = ['reserve', 'commit', 'release', 'extend'] as const;

export const REQUEST_FIELDS = ['at', 'domain', 'descriptors', 'hits', 'times', 'every', 'expect', ...STEP_KINDS, 'ttl'];

/** Undefined: the file is wrong, and the list says where. */
export function readTestFile(file: ConfigFile, list: ProblemList): TestFile | undefined {
  const { root, problems } = openDocument(file, { list });
  if (root === undefined) return undefined;
  const before = list.found().kept.length + list.found().omitted;
  const read = new TestFileReader(new NodeReader(problems)).file(root, file.name);
  return list.found().kept.length + list.found().omitted > before ? undefined : read;
}

/** The values that a request repeats of those before it. */
interface Before {
  domain: string | undefined;
  descriptors: readonly Descriptor[] | undefined;
  atUs: number;
  isFirst: boolean;
}

interface RequestPlace {
  readonly path: string;
  readonly startUs: number;
  readonly before: Before;
}

class TestFileReader {
  private requests = 0;

  constructor(private readonly reader: NodeReader) {}

  file(root: ConfigNode, name: string): TestFile {
    const { reader } = this;
    const fields = reader.map(root, { path: '', known: FILE_FIELDS });
    const configuration = this.configuration(fields.get('configuration'));
    if (configuration.length === 0)
      reader.report(root, 'configuration', 'is missing; name the file or the directory that is tested, relative to this file');
    const startUs = reader.instant(fields.get('start'), 'start') ?? DEFAULT_START_US;
    const records = reader.list(fields.get('records'), 'records').flatMap((node, index) => {
      const record = readFixture(node, `records[${index}]`, reader);
      return record === undefined ? [] : [record];
    });
    const tests = reader.list(fields.get('tests'), 'tests').map((node, index) => this.test(node, { path: `tests[${index}]`, startUs }));
    if (tests.length === 0) reader.report(root, 'tests', 'is missing; it lists the tests');
    if (this.requests > REQUESTS_MAX)
      reader.report(root, 'tests', `have ${this.requests} requests with their repetitions; a file has at most ${REQUESTS_MAX}`);
    return { name, configuration, records, tests };
  }

  private configuration(node: ConfigNode | undefined): string[] {
    if (node?.kind === 'scalar') return [this.reader.text(node, 'configuration')];
    return this.reader.list(node, 'configuration').map((each, index) => this.reader.text(each, `configuration[${index}]`));
  }

  private test(node: ConfigNode, { path, startUs: ofFile }: { readonly path: string; readonly startUs: number }): Test {
    const { reader } = this;
    const fields = reader.map(node, { path, known: TEST_FIELDS });
    const name = fields.get('name');
    if (name === undefined) reader.report(node, `${path}.name`, 'is missing; say what the test shows');
    const startUs = reader.instant(fields.get('start'), `${path}.start`) ?? ofFile;
    const before: Before = { domain: undefined, descriptors: undefined, atUs: startUs, isFirst: true };
    const requests = reader
      .list(fields.get('requests'), `${path}.requests`)
      .map((each, index) => this.request(each, { path: `${path}.requests[${index}]`, startUs, before }));
    if (requests.length === 0) reader.report(node, `${path}.requests`, 'is missing; it lists the requests of the test');
    return { name: name === undefined ? '' : reader.text(name, `${path}.name`), line: reader.lineOf(node), startUs, requests };
  }

  private request(node: ConfigNode, { path, startUs, before }: RequestPlace): TestRequest {
    const { reader } = this;
    const fields = reader.map(node, { path, known: REQUEST_FIELDS });
    const times = reader.whole(fields.get('times'), `${path}.times`, { min: 1, max: TIMES_MAX }) ?? 1;
    this.requests += times;
    const everyUs = reader.duration(fields.get('every'), `${path}.every`) ?? 0;
    const atUs = this.time(fields, { path, startUs, before });
    before.atUs = atUs + everyUs * (times - 1);
    if (before.atUs > TIME_US_MAX) {
      reader.report(node, `${path}.at`, `ends after ${new Date(TIME_US_MAX / US_PER_MS).toISOString()}, the last instant of a test`);
      before.atUs = startUs;
    }
    const hits = reader.whole(fields.get('hits'), `${path}.hits`, { min: -HITS_MAX, max: HITS_MAX });
    const isStep = STEP_KINDS.some((kind) => fields.has(kind));
    const request = this.asked(node, fields, { path, before, hits: isStep ? undefined : hits });
    const step = this.step(node, fields, { path, hits, request });
    const expect = readExpectation(fields.get('expect'), { path: `${path}.expect`, times, reader });
    return { line: reader.lineOf(node), atUs, request, ...(step && { step }), times, everyUs, expect };
  }

  private time(fields: Fields, { path, startUs, before }: RequestPlace): number {
    const at = fields.get('at');
    const isFirst = before.isFirst;
    before.isFirst = false;
    if (at === undefined) return before.atUs;
    const atUs = this.moment(at, `${path}.at`, startUs) ?? before.atUs;
    if (atUs >= before.atUs) return atUs;
    const advice = isFirst
      ? 'is before the start; give the test an earlier start'
      : 'is before the request above it; write the requests in the order of their times';
    this.reader.report(at, `${path}.at`, advice);
    return before.atUs;
  }

  private moment(node: ConfigNode, path: string, startUs: number): number | undefined {
    const text = this.reader.text(node, path);
    const afterUs = readDurationUs(text);
    const us = afterUs === undefined ? readInstantUs(text) : startUs + afterUs;
    if (us === undefined)
      this.reader.report(node, path, 'must be a duration since the start, such as 60s, or an instant, such as 2026-11-23T23:59:50Z');
    return us;
  }

  private asked(
    node: ConfigNode,
    fields: Fields,
    { path, before, hits = 1 }: Pick<RequestPlace, 'path' | 'before'> & { readonly hits: number | undefined },
  ): RateLimitRequest {
    const { reader } = this;
    const [domain, list] = [fields.get('domain'), fields.get('descriptors')];
    if (domain !== undefined) before.domain = toByteString(reader.text(domain, `${path}.domain`));
    if (list !== undefined)
      before.descriptors = reader
        .list(list, `${path}.descriptors`)
        .map((each, index) => readTestDescriptor(each, `${path}.descriptors[${index}]`, reader));
    const { domain: name, descriptors } = before;
    if (name === undefined) reader.report(node, `${path}.domain`, 'is missing; the first request of a test needs it');
    if (descriptors === undefined) reader.report(node, `${path}.descriptors`, 'is missing; the first request of a test needs it');
    // On the wire only descriptors can check or refund.
    if (hits <= 0) return { domain: name ?? '', descriptors: (descriptors ?? []).map((each) => ({ hits, ...each })), hits: 1 };
    return { domain: name ?? '', descriptors: descriptors ?? [], hits, ...(fields.has('hits') && { saysHits: true as const }) };
  }

  private step(
    node: ConfigNode,
    fields: Fields,
    { path, hits, request }: { readonly path: string; readonly hits: number | undefined; readonly request: RateLimitRequest },
  ): ReservationStep | undefined {
    const { reader } = this;
    const [kind, second] = STEP_KINDS.filter((each) => fields.has(each));
    const ttl = fields.get('ttl');
    const idNode = kind && fields.get(kind);
    const takesTtl = kind === 'reserve' || kind === 'extend';
    if (ttl !== undefined && !takesTtl) reader.report(ttl, `${path}.ttl`, 'belongs to reserve or extend; remove it');
    if (kind === undefined || idNode === undefined) return undefined;
    if (second !== undefined) reader.report(node, `${path}.${second}`, `stands beside ${kind}; a request makes one step`);
    const charges = kind === 'reserve' || kind === 'commit';
    if (charges !== (hits !== undefined))
      reader.report(node, `${path}.hits`, charges ? `is missing; ${kind} needs it` : `does not belong to ${kind}; remove it`);
    if (hits !== undefined && hits < 0) reader.report(node, `${path}.hits`, `must not be negative for ${kind}`);
    if (request.descriptors.some((each) => each.hits !== undefined))
      reader.report(node, `${path}.descriptors`, `must not have hits of their own for ${kind}`);
    const ttlUs = reader.duration(ttl, `${path}.ttl`);
    const id = reader.text(idNode, `${path}.${kind}`);
    if (!takesTtl) return kind === 'commit' ? { kind, id, hits: hits ?? 0 } : { kind, id };
    const ttlMs = ttlUs === undefined ? undefined : ttlUs / US_PER_MS;
    return kind === 'reserve' ? { kind, id, hits: hits ?? 0, ttlMs } : { kind, id, ttlMs };
  }
}
