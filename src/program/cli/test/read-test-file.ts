/** Reads a file of tests, and reports every mistake with its line. */

import { didYouMean } from '../../../lib/did-you-mean';
import { show } from '../../../lib/quote';
import { UNIT_NAMES } from '../../../domain/descriptor/unit';
import { toByteString } from '../../../domain/descriptor/byte-string';
import { HITS_MAX, type Descriptor, type Entry, type LimitOverride, type RateLimitRequest } from '../../../domain/descriptor/descriptor';
import type { Code } from '../../../domain/decide/decision';
import { openDocument } from '../../../configuration/yaml/config-document';
import { isNull, type ConfigNode, type MapNode } from '../../../configuration/yaml/config-node';
import type { ConfigFile } from '../../../configuration/yaml/yaml-text';
import type { FileProblems, ProblemList } from '../../../configuration/problems/problem-list';
import { readRecord } from '../../../state/control/read-record';
import { asError } from '../../../lib/errors';
import type { Expectation, PlacedRecord, StatusExpectation, Test, TestFile, TestRequest } from './test-file';
import { readDurationUs, readInstantUs } from './virtual-time';

/** 2026-01-01T00:00:00Z. */
const DEFAULT_START_US = Date.UTC(2026, 0, 1) * 1_000;

/** Repetitions of a request. */
export const TIMES_MAX = 1_000_000;

const FILE_FIELDS = ['configuration', 'start', 'records', 'tests'];
const TEST_FIELDS = ['name', 'start', 'requests'];
const REQUEST_FIELDS = ['at', 'domain', 'descriptors', 'hits', 'times', 'every', 'expect'];
const DESCRIPTOR_FIELDS = ['entries', 'limit', 'hits'];
const STATUS_FIELDS = ['code', 'remaining', 'reset', 'rule', 'limit'];
const EXPECT_FIELDS = [...STATUS_FIELDS, 'retry_after', 'headers', 'statuses', 'admitted', 'denied'];

/** Undefined: the file is wrong, and the list says where. */
export function readTestFile(file: ConfigFile, list: ProblemList): TestFile | undefined {
  const { root, problems } = openDocument(file, { list });
  if (root === undefined) return undefined;
  const before = list.found().kept.length + list.found().omitted;
  const read = new Reader(problems).file(root, file.name);
  return list.found().kept.length + list.found().omitted > before ? undefined : read;
}

/** The domain and the descriptors of the request before. */
interface Before {
  domain: string | undefined;
  descriptors: readonly Descriptor[] | undefined;
  atUs: number;
}

class Reader {
  constructor(private readonly problems: FileProblems) {}

  file(root: ConfigNode, name: string): TestFile {
    const fields = this.map(root, { path: '', known: FILE_FIELDS });
    const configuration = this.list(fields.get('configuration'), 'configuration', { single: true }).map((node, index) =>
      this.text(node, `configuration[${index}]`),
    );
    if (configuration.length === 0)
      this.report(root, 'configuration', 'is missing; name the file or the directory that is tested, relative to this file');
    const startUs = this.instant(fields.get('start'), 'start') ?? DEFAULT_START_US;
    const records = this.list(fields.get('records'), 'records').flatMap((node, index) => this.record(node, `records[${index}]`));
    const tests = this.list(fields.get('tests'), 'tests').map((node, index) => this.test(node, { path: `tests[${index}]`, startUs }));
    if (tests.length === 0) this.report(root, 'tests', 'is missing; it lists the tests');
    return { name, configuration, records, tests };
  }

  private record(node: ConfigNode, path: string): PlacedRecord[] {
    const json = this.json(node);
    if (typeof json !== 'object' || json === null || Array.isArray(json)) {
      this.report(node, path, 'must be a map, such as {kind: tenant, tenant: acme, plan: gold}');
      return [];
    }
    const domain = (json as { readonly domain?: unknown }).domain;
    try {
      const { domain: named, ...record } = readRecord(domain === undefined ? { ...json, domain: 'only' } : json);
      return [{ record: domain === undefined ? record : { ...record, domain: named }, line: this.lineOf(node) }];
    } catch (error) {
      this.report(node, path, asError(error).message);
      return [];
    }
  }

  private test(node: ConfigNode, { path, startUs: ofFile }: { readonly path: string; readonly startUs: number }): Test {
    const fields = this.map(node, { path, known: TEST_FIELDS });
    const name = fields.get('name');
    if (name === undefined) this.report(node, `${path}.name`, 'is missing; say what the test shows');
    const startUs = this.instant(fields.get('start'), `${path}.start`) ?? ofFile;
    const before: Before = { domain: undefined, descriptors: undefined, atUs: startUs };
    const requests = this.list(fields.get('requests'), `${path}.requests`).map((each, index) =>
      this.request(each, { path: `${path}.requests[${index}]`, startUs, before }),
    );
    if (requests.length === 0) this.report(node, `${path}.requests`, 'is missing; it lists the requests of the test');
    return { name: name === undefined ? '' : this.text(name, `${path}.name`), line: this.lineOf(node), startUs, requests };
  }

  private request(
    node: ConfigNode,
    { path, startUs, before }: { readonly path: string; readonly startUs: number; readonly before: Before },
  ): TestRequest {
    const fields = this.map(node, { path, known: REQUEST_FIELDS });
    const at = fields.get('at');
    const atUs = at === undefined ? before.atUs : (this.moment(at, `${path}.at`, startUs) ?? before.atUs);
    if (atUs < before.atUs)
      this.report(at ?? node, `${path}.at`, 'is before the request above it; write the requests in the order of their times');
    const times = this.whole(fields.get('times'), `${path}.times`, { min: 1, max: TIMES_MAX }) ?? 1;
    const everyUs = this.duration(fields.get('every'), `${path}.every`) ?? 0;
    const domain = fields.get('domain');
    if (domain !== undefined) before.domain = toByteString(this.text(domain, `${path}.domain`));
    const descriptors = fields.get('descriptors');
    if (descriptors !== undefined)
      before.descriptors = this.list(descriptors, `${path}.descriptors`).map((each, index) =>
        this.descriptor(each, `${path}.descriptors[${index}]`),
      );
    const hits = this.whole(fields.get('hits'), `${path}.hits`, { min: 0, max: HITS_MAX });
    if (before.domain === undefined) this.report(node, `${path}.domain`, 'is missing; the first request of a test needs it');
    if (before.descriptors === undefined) this.report(node, `${path}.descriptors`, 'is missing; the first request of a test needs it');
    before.atUs = atUs + everyUs * (times - 1);
    const request: RateLimitRequest = {
      domain: before.domain ?? '',
      descriptors: hits === 0 ? (before.descriptors ?? []).map((each) => ({ hits: 0, ...each })) : (before.descriptors ?? []),
      hits: hits === undefined || hits === 0 ? 1 : hits,
      ...(hits !== undefined && { saysHits: true as const }),
    };
    return { line: this.lineOf(node), atUs, request, times, everyUs, expect: this.expectation(fields.get('expect'), `${path}.expect`) };
  }

  /** `{key: value}`, or `{entries: …, limit: 20/minute, hits: 0}`. */
  private descriptor(node: ConfigNode, path: string): Descriptor {
    const entries = node.kind === 'map' ? node.fields.get('entries')?.value : undefined;
    if (entries === undefined || entries.kind === 'scalar') return { entries: this.entries(node, path) };
    const fields = this.map(node, { path, known: DESCRIPTOR_FIELDS });
    const override = this.override(fields.get('limit'), `${path}.limit`);
    const hits = this.whole(fields.get('hits'), `${path}.hits`, { min: -HITS_MAX, max: HITS_MAX });
    return { entries: this.entries(entries, `${path}.entries`), ...(override && { override }), ...(hits !== undefined && { hits }) };
  }

  /** A map of keys and values, or a list of such maps for a key that comes twice. */
  private entries(node: ConfigNode, path: string): Entry[] {
    if (node.kind === 'list') return [...node.items].flatMap((each, index) => this.entries(each, `${path}[${index}]`));
    if (node.kind !== 'map') {
      this.report(node, path, 'must be a map of keys and values, such as {path: /payment}');
      return [];
    }
    return [...node.fields].map(([key, { value }]) => ({
      key: toByteString(key),
      value: toByteString(this.text(value, `${path}.${key}`)),
    }));
  }

  private override(node: ConfigNode | undefined, path: string): LimitOverride | undefined {
    if (node === undefined) return undefined;
    const [, requests, multiplier, word] = /^(\d{1,10})\/(\d{0,10})([a-z]+)$/.exec(this.text(node, path)) ?? [];
    const unit = UNIT_NAMES.find((each) => each === word);
    if (unit !== undefined) return { requestsPerUnit: Number(requests), unit, unitMultiplier: multiplier === '' ? 1 : Number(multiplier) };
    this.report(node, path, `must be a limit such as 20/minute or 20/5minute, with one of ${UNIT_NAMES.join(', ')}`);
    return undefined;
  }

  private expectation(node: ConfigNode | undefined, path: string): Expectation | undefined {
    if (node === undefined) return undefined;
    if (node.kind === 'scalar') return { code: this.code(node, path) };
    const fields = this.map(node, { path, known: EXPECT_FIELDS });
    const retry = fields.get('retry_after');
    const headers = fields.get('headers');
    const statuses = fields.get('statuses');
    return {
      ...this.status(fields, path),
      retryAfterUs: retry?.kind === 'scalar' && retry.text === 'never' ? 'never' : this.duration(retry, `${path}.retry_after`),
      headers: headers && this.headers(headers, `${path}.headers`),
      statuses:
        statuses &&
        this.list(statuses, `${path}.statuses`).map((each, index) => {
          const place = `${path}.statuses[${index}]`;
          return each.kind === 'scalar'
            ? { code: this.code(each, place) }
            : this.status(this.map(each, { path: place, known: STATUS_FIELDS }), place);
        }),
      admitted: this.whole(fields.get('admitted'), `${path}.admitted`, { min: 0, max: TIMES_MAX }),
      denied: this.whole(fields.get('denied'), `${path}.denied`, { min: 0, max: TIMES_MAX }),
    };
  }

  private status(fields: ReadonlyMap<string, ConfigNode>, path: string): StatusExpectation {
    const [code, rule, limit] = [fields.get('code'), fields.get('rule'), fields.get('limit')];
    return {
      code: code && this.code(code, `${path}.code`),
      remaining: this.whole(fields.get('remaining'), `${path}.remaining`, { min: 0, max: HITS_MAX }),
      resetUs: this.duration(fields.get('reset'), `${path}.reset`),
      rule: rule && this.text(rule, `${path}.rule`),
      limit: limit && this.text(limit, `${path}.limit`),
    };
  }

  private headers(node: ConfigNode, path: string): ReadonlyMap<string, string | null> {
    if (node.kind !== 'map') {
      this.report(node, path, 'must be a map of header names and values');
      return new Map();
    }
    return new Map(
      [...node.fields].map(([name, { value }]) => [name.toLowerCase(), isNull(value) ? null : this.text(value, `${path}.${name}`)]),
    );
  }

  private code(node: ConfigNode, path: string): Code | undefined {
    const text = this.text(node, path);
    if (text === 'OK' || text === 'OVER_LIMIT') return text;
    this.report(node, path, `${show(text)} is not a code; use OK or OVER_LIMIT`);
    return undefined;
  }

  private map(
    node: ConfigNode,
    { path, known }: { readonly path: string; readonly known: readonly string[] },
  ): ReadonlyMap<string, ConfigNode> {
    if (node.kind !== 'map') {
      this.report(node, path, `must be a map of ${known.join(', ')}`);
      return new Map();
    }
    this.refuseUnknown(node, { path, known });
    return new Map([...node.fields].filter(([, { value }]) => !isNull(value)).map(([name, { value }]) => [name, value]));
  }

  private refuseUnknown({ fields }: MapNode, { path, known }: { readonly path: string; readonly known: readonly string[] }): void {
    for (const [name, { keyOffset }] of fields) {
      if (known.includes(name)) continue;
      const meant = didYouMean(name, known);
      const advice = meant === undefined ? `use ${known.join(', ')}` : `did you mean ${meant}?`;
      this.problems.report({ offset: keyOffset, path: path === '' ? name : `${path}.${name}`, message: `is not a field here; ${advice}` });
    }
  }

  private list(node: ConfigNode | undefined, path: string, { single = false } = {}): readonly ConfigNode[] {
    if (node === undefined) return [];
    if (node.kind === 'list') return [...node.items];
    if (single && node.kind === 'scalar') return [node];
    this.report(node, path, 'must be a list');
    return [];
  }

  private text(node: ConfigNode, path: string): string {
    if (node.kind === 'scalar') return node.text;
    this.report(node, path, 'must be a text');
    return '';
  }

  private whole(
    node: ConfigNode | undefined,
    path: string,
    { min, max }: { readonly min: number; readonly max: number },
  ): number | undefined {
    if (node === undefined) return undefined;
    const text = this.text(node, path);
    const number = Number(text);
    if (/^-?\d{1,16}$/.test(text) && number >= min && number <= max) return number;
    this.report(node, path, `must be a whole number from ${min} to ${max}`);
    return undefined;
  }

  private duration(node: ConfigNode | undefined, path: string): number | undefined {
    if (node === undefined) return undefined;
    const us = readDurationUs(this.text(node, path));
    if (us === undefined) this.report(node, path, 'must be a duration such as 100ms, 60s, 1m30s or 2d');
    return us;
  }

  private instant(node: ConfigNode | undefined, path: string): number | undefined {
    if (node === undefined) return undefined;
    const us = readInstantUs(this.text(node, path));
    if (us === undefined) this.report(node, path, 'must be an instant with a zone, such as 2026-11-23T23:59:50Z');
    return us;
  }

  private moment(node: ConfigNode, path: string, startUs: number): number | undefined {
    const text = this.text(node, path);
    const afterUs = readDurationUs(text);
    const us = afterUs === undefined ? readInstantUs(text) : startUs + afterUs;
    if (us === undefined)
      this.report(node, path, 'must be a duration since the start, such as 60s, or an instant, such as 2026-11-23T23:59:50Z');
    return us;
  }

  /** As JSON: plain scalars are numbers and booleans where they look so. */
  private json(node: ConfigNode): unknown {
    if (node.kind === 'list') return [...node.items].map((each) => this.json(each));
    if (node.kind === 'map') return Object.fromEntries([...node.fields].map(([name, { value }]) => [name, this.json(value)]));
    if (!node.plain) return node.text;
    if (node.text === 'true' || node.text === 'false') return node.text === 'true';
    return /^-?\d{1,15}$/.test(node.text) ? Number(node.text) : node.text;
  }

  private lineOf({ offset }: ConfigNode): number {
    return this.problems.lineAt(offset);
  }

  private report({ offset }: ConfigNode, path: string, message: string): void {
    this.problems.report({ offset, path, message });
  }
}
