/** Reads a record of control data in a test file. */

import { RecordError, readRecord } from '../../../../state/control/read-record';
import { isNull, type ConfigNode } from '../../../../configuration/yaml/config-node';
import type { NodeReader } from './node-reader';
import type { PlacedRecord } from './test-file';

/** The fields of records that are numbers in JSON; all others but `candidate` are texts, which YAML may write like numbers. */
const NUMBERS: ReadonlySet<string> = new Set(['requests_per_unit', 'unit_multiplier', 'burst']);

const ANY_DOMAIN = 'any';

/** A record as JSON, such as `{kind: tenant, tenant: acme, plan: gold}`. Undefined: it is invalid. */
export function readFixture(node: ConfigNode, path: string, reader: NodeReader): PlacedRecord | undefined {
  if (node.kind !== 'map') {
    reader.report(node, path, 'must be a map, such as {kind: tenant, tenant: acme, plan: gold}');
    return undefined;
  }
  const json = toJson(node, '') as { readonly domain?: unknown };
  const line = reader.lineOf(node);
  try {
    const { domain, ...record } = readRecord({ domain: ANY_DOMAIN, ...json });
    return { record: json.domain === undefined ? record : { ...record, domain }, line };
  } catch (error) {
    if (!(error instanceof RecordError)) throw error;
    reader.report(placeOf(node, error.field), error.field === 'record' ? path : `${path}.${error.field}`, error.problem);
    return undefined;
  }
}

/** Null counts as absent. */
function toJson(node: ConfigNode, name: string): unknown {
  if (node.kind === 'list') return [...node.items].map((each) => toJson(each, name));
  if (node.kind === 'map') {
    const fields = [...node.fields].filter(([, { value }]) => !isNull(value));
    return Object.fromEntries(fields.map(([field, { value }]) => [field, toJson(value, field)]));
  }
  if (!node.plain) return node.text;
  if (name === 'candidate' && /^(?:true|false)$/.test(node.text)) return node.text === 'true';
  return NUMBERS.has(name) && /^-?\d{1,16}$/.test(node.text) ? Number(node.text) : node.text;
}

/** The node of a field such as `entries[0].key`, or the nearest around it. */
function placeOf(node: ConfigNode, field: string): ConfigNode {
  let place = node;
  for (const [step] of field.matchAll(/[^.[\]]+/g)) {
    const next: ConfigNode | undefined =
      place.kind === 'map' ? place.fields.get(step)?.value : place.kind === 'list' ? [...place.items][Number(step)] : undefined;
    if (next === undefined) break;
    place = next;
  }
  return place;
}
