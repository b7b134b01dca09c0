/** Reads `metadata`: a map of anything, taken as the JSON that the caller is handed. */

import type { JsonObject, JsonValue } from '../rule/rule';
import { isNull, type ConfigNode, type MapNode, type ScalarNode } from './config-node';
import { BOOLEANS, LEADING_ZERO, withoutUnderscores } from './scalars';
import type { Located, MapReader } from './map-reader';
import type { FileProblems } from './problem-list';
import { joinPath, show } from './show';

/** Bytes of a descriptor's metadata as JSON: it travels with every answer about the descriptor. */
export const METADATA_BYTES_MAX = 16 * 1024;

/** Maps and lists within each other. Envoy can't read an answer whose metadata is 33 deep, and lets every such request pass. */
export const METADATA_DEPTH_MAX = 16;

const PREFIXED = /^([-+]?)(0x[\da-f]+|0o[0-7]+|0b[01]+)$/i;

/** What the reference has room for: a prefixed number beyond it is text. */
const PREFIXED_MIN = -(2n ** 63n);
const PREFIXED_MAX = 2n ** 64n - 1n;

const FLOAT = /^[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?$/i;
const NO_NUMBER = /^([-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN))$/;

interface Place {
  readonly path: string;
  readonly problems: FileProblems;
}

export function readMetadata(descriptor: MapReader, { path: descriptorPath, problems }: Place): Located<JsonObject> | undefined {
  const node = descriptor.child('metadata');
  if (node === undefined) return undefined;
  const path = joinPath(descriptorPath, 'metadata');
  const report = (message: string) => {
    problems.report({ offset: node.offset, path, message });
  };
  if (node.kind !== 'map') {
    report(`must be a map, not a ${node.kind}`);
    return undefined;
  }
  // Every node is a byte of JSON at least: what aliases unfold to is known before it is unfolded.
  const isTooLong = node.size > METADATA_BYTES_MAX;
  if (!isTooLong && isDeeper(node, METADATA_DEPTH_MAX)) {
    report(`is nested more than ${METADATA_DEPTH_MAX} deep; a caller might not read an answer with it`);
    return undefined;
  }
  const value = isTooLong ? undefined : toObject(node, { path, problems });
  if (value !== undefined && Buffer.byteLength(JSON.stringify(value)) <= METADATA_BYTES_MAX) return { value, offset: node.offset };
  report(`is longer than ${METADATA_BYTES_MAX} bytes as JSON; it travels with every answer`);
  return undefined;
}

function isDeeper(node: ConfigNode, depthMax: number): boolean {
  if (node.kind === 'scalar') return false;
  const within = node.kind === 'list' ? node.items : Array.from(node.fields.values(), ({ value }) => value);
  return depthMax === 0 || within.some((child) => isDeeper(child, depthMax - 1));
}

function toObject({ fields }: MapNode, { path, problems }: Place): JsonObject {
  // Entries make properties of their own, whatever their names: `__proto__` is a name like any other.
  return Object.fromEntries(
    Array.from(fields, ([name, { value }]) => [name, toJson(value, { path: joinPath(path, name), problems })]),
  );
}

function toJson(node: ConfigNode, { path, problems }: Place): JsonValue {
  if (node.kind === 'map') return toObject(node, { path, problems });
  if (node.kind === 'list') return node.items.map((item, index) => toJson(item, { path: `${path}[${index}]`, problems }));
  return isNull(node) ? null : toScalar(node, { path, problems });
}

function toScalar({ text, plain, offset }: ScalarNode, { path, problems }: Place): JsonValue {
  if (!plain) return text;
  const boolean = BOOLEANS.get(text);
  if (boolean !== undefined) return boolean;
  const digits = withoutUnderscores(text);
  const number = toNumber(digits);
  const isNoNumber = NO_NUMBER.test(text) || number === Infinity || number === -Infinity;
  if (LEADING_ZERO.test(digits) || isNoNumber) {
    const why = isNoNumber ? 'is no number that JSON has' : 'could be octal or decimal';
    problems.report({ offset, path, message: `${show(text)} ${why}; put it in quotes to have it as text` });
    return null;
  }
  return number ?? text;
}

function toNumber(digits: string): number | undefined {
  const [, sign, prefixed] = PREFIXED.exec(digits) ?? [];
  if (prefixed === undefined) return FLOAT.test(digits) ? Number(digits) : undefined;
  const value = sign === '-' ? -BigInt(prefixed) : BigInt(prefixed);
  return value < PREFIXED_MIN || value > PREFIXED_MAX ? undefined : Number(value);
}
