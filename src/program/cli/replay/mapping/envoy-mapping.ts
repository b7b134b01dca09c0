/** Makes a mapping of the rate limit actions of an Envoy configuration, as far as the log has what they need. */

import { openDocument } from '../../../../configuration/yaml/config-document';
import type { ConfigNode } from '../../../../configuration/yaml/config-node';
import type { ConfigFile } from '../../../../configuration/yaml/yaml-text';
import type { ProblemList } from '../../../../configuration/problems/problem-list';
import { toByteString } from '../../../../domain/descriptor/byte-string';
import type { EntryCondition, EntrySource, LogMapping, RouteTable } from './log-mapping';

const RATE_LIMIT_FILTER = '.http.ratelimit.v3.RateLimit';

type Json = string | readonly Json[] | JsonMap;
interface JsonMap {
  readonly [name: string]: Json;
}

export interface EnvoyMapping {
  readonly mapping: LogMapping;
  /** Facts that the log lacks or a replay cannot tell, so that their descriptors are left out. */
  readonly missing: readonly string[];
}

export interface EnvoyMappingInput {
  readonly file: ConfigFile;
  /** The fields that the log has. */
  readonly fields: readonly string[];
  readonly list: ProblemList;
}

/** Undefined: the file is wrong, and the list says where. */
export function readEnvoyMapping({ file, fields, list }: EnvoyMappingInput): EnvoyMapping | undefined {
  const { root, problems } = openDocument(file, { list });
  if (root === undefined) return undefined;
  const refuse = (path: string, message: string): void => {
    problems.report({ offset: root.offset, path, message });
  };
  const json = jsonOf(root);
  const filter = [...mapsIn(json)].find((map) => textOf(map['@type']).endsWith(RATE_LIMIT_FILTER));
  const hosts = [...mapsIn(json)].flatMap((map) => listOf(map.virtual_hosts)).filter(isMap);
  if (filter === undefined || hosts.length === 0) {
    refuse('', 'has no rate limit filter of HTTP (envoy.filters.http.ratelimit), or no virtual hosts');
    return undefined;
  }
  try {
    return new ActionReader(fields, Number(textOf(filter.stage ?? '0'))).read(textOf(filter.domain), hosts);
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    refuse('safe_regex', `is not a regular expression of JavaScript: ${error.message}`);
    return undefined;
  }
}

/** Names of fields that a log commonly gives to what Envoy knows of a request; the first that it has counts. */
const FIELD_NAMES: Readonly<Record<string, readonly string[]>> = {
  ':path': ['path', ':path', 'x_envoy_original_path'],
  ':method': ['method', ':method'],
  ':authority': ['authority', ':authority', 'host'],
  'x-request-id': ['request_id', 'x_request_id', 'x-request-id'],
  remote_address: ['downstream_remote_address_without_port', 'remote_address', 'client_ip'],
  destination_cluster: ['upstream_cluster', 'upstream_cluster_raw'],
};

class ActionReader {
  private readonly missing = new Set<string>();

  constructor(
    private readonly fields: readonly string[],
    private readonly stage: number,
  ) {}

  read(domain: string, hosts: readonly JsonMap[]): EnvoyMapping {
    const descriptors: EntrySource[][] = [];
    const places: (number | undefined)[] = [];
    const routes: RouteTable['routes'][number][] = [];
    for (const host of hosts) {
      const ofHost = listOf(host.rate_limits);
      for (const route of listOf(host.routes).filter(isMap)) {
        const action = isMap(route.route) ? route.route : {};
        const own = listOf(action.rate_limits);
        // A route with limits of its own does not use those of its host, unless it says so.
        const limits = own.length === 0 ? ofHost : textOf(action.include_vh_rate_limits) === 'true' ? [...ofHost, ...own] : own;
        const number = routes.push({ domains: listOf(host.domains).map(textOf), path: pathPattern(route.match) }) - 1;
        for (const limit of limits.filter(isMap)) {
          const entries = Number(textOf(limit.stage ?? '0')) === this.stage ? this.descriptor(limit) : undefined;
          if (entries === undefined) continue;
          descriptors.push(entries);
          places.push(number);
        }
      }
    }
    const pathField = this.fieldOf(':path');
    if (pathField === undefined && routes.length > 1)
      this.missing.add('the path of a request, so every line is taken for one of the first route');
    const table = { routes, places, pathField, authorityField: this.fieldOf(':authority') };
    return {
      mapping: { format: undefined, domain: { value: toByteString(domain) }, descriptors, routes: table },
      missing: [...this.missing],
    };
  }

  /** Undefined: the log lacks what an action needs. */
  private descriptor({ actions, disable_key: disabled }: JsonMap): EntrySource[] | undefined {
    if (disabled !== undefined) this.missing.add('runtime keys (disable_key), which are taken for not set');
    const entries = listOf(actions)
      .filter(isMap)
      .map((action) => this.action(action));
    return entries.some((entry) => entry === undefined) ? undefined : entries.filter((entry) => entry !== undefined);
  }

  private action(action: JsonMap): EntrySource | undefined {
    const [[kind, terms] = ['', {}]] = Object.entries(action);
    const of = isMap(terms) ? terms : {};
    switch (kind) {
      case 'generic_key':
        return { key: bytes(of.descriptor_key ?? 'generic_key'), value: bytes(of.descriptor_value ?? '') };
      case 'remote_address':
        return this.ofField('remote_address', 'remote_address');
      case 'destination_cluster':
        return this.ofField('destination_cluster', 'destination_cluster');
      case 'request_headers': {
        const entry = this.ofField(textOf(of.descriptor_key), textOf(of.header_name).toLowerCase());
        return entry !== undefined && textOf(of.skip_if_absent) === 'true' ? { ...entry, isOptional: true } : entry;
      }
      case 'header_value_match':
        return this.headerMatch(of);
      default:
        this.missing.add(`the action ${kind}, which no access log tells`);
        return undefined;
    }
  }

  private ofField(key: string, name: string): EntrySource | undefined {
    const field = this.fieldOf(name);
    if (field === undefined) this.missing.add(name === 'remote_address' ? 'the address of the client' : `the header ${name}`);
    return field === undefined ? undefined : { key: toByteString(key), field };
  }

  private headerMatch({
    descriptor_key: key = 'header_match',
    descriptor_value: value = '',
    expect_match: expected = 'true',
    headers,
  }: JsonMap): EntrySource | undefined {
    const conditions: EntryCondition[] = [];
    for (const matcher of listOf(headers).filter(isMap)) {
      const name = textOf(matcher.name).toLowerCase();
      const field = this.fieldOf(name);
      const pattern = stringPattern(isMap(matcher.string_match) ? matcher.string_match : { exact: matcher.exact_match ?? '' });
      if (field === undefined) this.missing.add(`the header ${name}`);
      else if (pattern === undefined)
        this.missing.add(`a match of the header ${name} that is none of exact, prefix, suffix, contains, safe_regex`);
      if (field === undefined || pattern === undefined) return undefined;
      const isPresent = matcher.present_match !== undefined;
      conditions.push({ field, pattern: isPresent ? /^/ : pattern, isInverted: textOf(matcher.invert_match) === 'true' });
    }
    return { key: bytes(key), value: bytes(value), when: { conditions, isExpected: textOf(expected) !== 'false' } };
  }

  private fieldOf(name: string): string | undefined {
    return [...(FIELD_NAMES[name] ?? []), name, name.replaceAll('-', '_')].find((field) => this.fields.includes(field));
  }
}

function pathPattern(match: Json | undefined): RegExp {
  if (!isMap(match)) return /^/;
  const { prefix, path, safe_regex: regex, path_separated_prefix: separated } = match;
  if (path !== undefined) return new RegExp(`^${quoted(path)}(?:\\?|$)`);
  if (separated !== undefined) return new RegExp(`^${quoted(separated)}(?:[/?]|$)`);
  if (isMap(regex)) return new RegExp(`^(?:${bytes(regex.regex ?? '')})(?:\\?|$)`);
  return new RegExp(`^${quoted(prefix ?? '')}`);
}

function stringPattern({ exact, prefix, suffix, contains, safe_regex: regex, ignore_case: ignored }: JsonMap): RegExp | undefined {
  const flags = textOf(ignored ?? '') === 'true' ? 'i' : '';
  if (exact !== undefined) return new RegExp(`^${quoted(exact)}$`, flags);
  if (prefix !== undefined) return new RegExp(`^${quoted(prefix)}`, flags);
  if (suffix !== undefined) return new RegExp(`${quoted(suffix)}$`, flags);
  if (contains !== undefined) return new RegExp(quoted(contains), flags);
  return isMap(regex) ? new RegExp(`^(?:${bytes(regex.regex ?? '')})$`) : undefined;
}

function quoted(text: Json): string {
  return bytes(text).replace(/[\\^$.*+?()[\]{}|]/g, '\\$&');
}

function bytes(text: Json): string {
  return toByteString(textOf(text));
}

function jsonOf(node: ConfigNode): Json {
  if (node.kind === 'scalar') return node.text;
  if (node.kind === 'list') return [...node.items].map(jsonOf);
  return Object.fromEntries([...node.fields].map(([name, { value }]) => [name, jsonOf(value)]));
}

function* mapsIn(json: Json): Generator<JsonMap> {
  if (typeof json === 'string') return;
  if (isMap(json)) yield json;
  for (const each of Object.values(json)) yield* mapsIn(each);
}

function isMap(json: Json | undefined): json is JsonMap {
  return typeof json === 'object' && !Array.isArray(json);
}

function listOf(json: Json | undefined): readonly Json[] {
  return Array.isArray(json) ? (json as readonly Json[]) : [];
}

function textOf(json: Json | undefined): string {
  return typeof json === 'string' ? json : '';
}
