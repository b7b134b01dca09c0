/** Reads a descriptor of a test file: a map of keys and values, a list of entries, or either with a limit and hits of its own. */

import { TIME_UNITS } from '../../../../domain/descriptor/unit';
import { toByteString } from '../../../../domain/descriptor/byte-string';
import { HITS_MAX, type Descriptor, type Entry, type LimitOverride } from '../../../../domain/descriptor/descriptor';
import { UINT32_MAX } from '../../../../domain/rule/limit';
import type { ConfigNode } from '../../../../configuration/yaml/config-node';
import type { NodeReader } from './node-reader';

export const DESCRIPTOR_FIELDS = ['entries', 'limit', 'hits'];

/** `20/minute` or `20/5minute`. */
export const OVERRIDE_PATTERN = `^(0|[1-9]\\d{0,9})\\/([1-9]\\d{0,9})?(${TIME_UNITS.join('|')})$`;

const OVERRIDE = new RegExp(OVERRIDE_PATTERN);

/** `{key: value}`, `[{key: value}, …]`, or `{entries: …, limit: 20/minute, hits: 0}`. */
export function readTestDescriptor(node: ConfigNode, path: string, reader: NodeReader): Descriptor {
  const entries = node.kind === 'map' ? node.fields.get('entries')?.value : undefined;
  if (entries === undefined || entries.kind === 'scalar') return { entries: readEntries(node, path, reader) };
  const fields = reader.map(node, { path, known: DESCRIPTOR_FIELDS });
  const override = readOverride(fields.get('limit'), `${path}.limit`, reader);
  const hits = reader.whole(fields.get('hits'), `${path}.hits`, { min: -HITS_MAX, max: HITS_MAX });
  return {
    entries: readEntries(entries, `${path}.entries`, reader),
    ...(override && { override }),
    ...(hits !== undefined && { hits }),
  };
}

/** The order of a map is that of its lines, whatever its keys look like. A list has a map for each entry, so that a key may come twice. */
function readEntries(node: ConfigNode, path: string, reader: NodeReader): Entry[] {
  if (node.kind !== 'list') return readMap(node, path, reader);
  return [...node.items].flatMap((item, index) => {
    const at = `${path}[${index}]`;
    const [key, value] = item.kind === 'map' && item.fields.size === 2 ? [item.fields.get('key'), item.fields.get('value')] : [];
    if (key === undefined || value === undefined) return readMap(item, at, reader);
    return [{ key: toByteString(reader.text(key.value, `${at}.key`)), value: toByteString(reader.text(value.value, `${at}.value`)) }];
  });
}

function readMap(node: ConfigNode, path: string, reader: NodeReader): Entry[] {
  if (node.kind !== 'map') {
    reader.report(node, path, 'must be a map of keys and values, such as {path: /payment}');
    return [];
  }
  return [...node.fields].map(([key, { value }]) => ({
    key: toByteString(key),
    value: toByteString(reader.text(value, `${path}.${key}`)),
  }));
}

function readOverride(node: ConfigNode | undefined, path: string, reader: NodeReader): LimitOverride | undefined {
  if (node === undefined) return undefined;
  const [, requests, multiplier = 1, word] = OVERRIDE.exec(reader.text(node, path)) ?? [];
  const unit = TIME_UNITS.find((each) => each === word);
  const override = { requestsPerUnit: Number(requests), unitMultiplier: Number(multiplier) };
  if (unit !== undefined && override.requestsPerUnit <= UINT32_MAX && override.unitMultiplier <= UINT32_MAX) return { ...override, unit };
  reader.report(node, path, `must be a limit such as 20/minute or 20/5minute, with one of ${TIME_UNITS.join(', ')}`);
  return undefined;
}
