/** The type of `metadata`: any map, as the JSON that callers receive. */

import type { JsonObject, JsonValue } from '../../../domain/rule/rule';
import { isNull, type ConfigNode, type MapNode, type ScalarNode } from '../../yaml/config-node';
import { BOOLEANS, LEADING_ZERO, withoutUnderscores } from '../../yaml/scalars';
import type { FieldType } from './field';
import type { FileProblems } from '../../problems/problem-list';
import { joinPath, show } from '../../../lib/quote';

/** Bytes of a descriptor's metadata as JSON: every answer about the descriptor contains it. */
export const METADATA_BYTES_MAX = 16 * 1024;

/** Levels of maps and lists. Envoy cannot parse an answer with 33 levels of metadata, and lets such requests pass. */
export const METADATA_DEPTH_MAX = 16;

const PREFIXED = /^([-+]?)(0x[\da-f]+|0o[0-7]+|0b[01]+)$/i;

/** The integer range of the reference: a prefixed number beyond it is text. */
const PREFIXED_MIN = -(2n ** 63n);
const PREFIXED_MAX = 2n ** 64n - 1n;

const FLOAT = /^[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?$/i;
const NOT_FINITE = /^([-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN))$/;

interface Place {
  readonly path: string;
  readonly problems: FileProblems;
}

export function metadata(): FieldType<JsonObject> {
  return {
    accepts: `a map of at most ${METADATA_BYTES_MAX} bytes as JSON, nested at most ${METADATA_DEPTH_MAX} deep`,
    schema: { type: 'object' },
    mistakes: [
      { write: 'gold', says: 'must be a map, not a scalar' },
      {
        write: '{ zip: 01099 }',
        says: '"01099" could be octal or decimal; put it in quotes to have it as text',
        unseen: 'JSON has no leading zeros',
      },
    ],
    read(node, at, name) {
      const fault = faultOf(node);
      const value =
        fault === undefined && node.kind === 'map' ? toObject(node, { path: joinPath(at.path, name), problems: at.problems }) : undefined;
      if (value !== undefined && Buffer.byteLength(JSON.stringify(value)) <= METADATA_BYTES_MAX) return value;
      at.refuse(node, name, fault ?? TOO_LONG);
      return undefined;
    },
  };
}

const TOO_LONG = `is longer than ${METADATA_BYTES_MAX} bytes as JSON; every answer contains it, so shorten it`;

function faultOf(node: ConfigNode): string | undefined {
  if (node.kind !== 'map') return `must be a map, not a ${node.kind}`;
  // Every node takes at least one byte of JSON, so the size of unfolded aliases is known before unfolding them.
  if (node.size > METADATA_BYTES_MAX) return TOO_LONG;
  return isDeeper(node, METADATA_DEPTH_MAX)
    ? `is nested more than ${METADATA_DEPTH_MAX} deep; callers may fail to parse answers with it`
    : undefined;
}

export function isDeeper(node: ConfigNode, depthMax: number): boolean {
  if (node.kind === 'scalar') return false;
  const within = node.kind === 'list' ? [...node.items] : Array.from(node.fields.values(), ({ value }) => value);
  return depthMax === 0 || within.some((child) => isDeeper(child, depthMax - 1));
}

export function toObject({ fields }: MapNode, { path, problems }: Place): JsonObject {
  // fromEntries defines own properties even for names such as `__proto__`.
  return Object.fromEntries(Array.from(fields, ([name, { value }]) => [name, toJson(value, { path: joinPath(path, name), problems })]));
}

function toJson(node: ConfigNode, { path, problems }: Place): JsonValue {
  if (node.kind === 'map') return toObject(node, { path, problems });
  if (node.kind === 'list') return Array.from(node.items, (item, index) => toJson(item, { path: `${path}[${index}]`, problems }));
  return isNull(node) ? null : toScalar(node, { path, problems });
}

function toScalar({ text, plain, offset }: ScalarNode, { path, problems }: Place): JsonValue {
  if (!plain) return text;
  const boolean = BOOLEANS.get(text);
  if (boolean !== undefined) return boolean;
  const digits = withoutUnderscores(text);
  const number = toNumber(digits);
  const isNotFinite = NOT_FINITE.test(text) || number === Infinity || number === -Infinity;
  if (LEADING_ZERO.test(digits) || isNotFinite) {
    const why = isNotFinite ? 'is not a number in JSON' : 'could be octal or decimal';
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
