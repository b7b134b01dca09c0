/** The types of fields with maps or lists. */

import { joinPath, show } from '../../../lib/quote';
import type { ConfigNode, ListNode, MapNode } from '../../yaml/config-node';
import type { Fields, FieldReader, FieldType, Level, ValuesOf } from './field';
import { kindOf, readText, TEXT_SCHEMA } from './scalar-types';

/** A map of the level. */
export function mapOf<F extends Fields>(level: Level<F>): FieldType<ValuesOf<F>> {
  return {
    accepts: `a map: [${level.name}](#${level.name})`,
    schema: reference(level.name),
    mistakes: [{ write: 'a', says: `is text; it must be a map of the keys ${level.keys.join(', ')}` }],
    read: (node, at, name) => at.readMap(node, { level, path: joinPath(at.path, name) }),
  };
}

/** A map of the level with that name, for another reader: the value is its node. */
export function mapFor(levelName: string, { mistakes }: Pick<FieldType<ConfigNode>, 'mistakes'>): FieldType<ConfigNode> {
  return { accepts: `a map: [${levelName}](#${levelName})`, schema: reference(levelName), mistakes, read: (node) => node };
}

/** An item of a list: its fields as read, and its place. */
export interface Item<F extends Fields> {
  readonly fields: ValuesOf<F>;
  readonly path: string;
}

/** A list of maps of the level; items beyond `max` are not read. */
export function listOf<F extends Fields>(
  level: Level<F>,
  { max, what }: { readonly max: number; readonly what: string },
): FieldType<readonly Item<F>[]> {
  return {
    accepts: `a list of at most ${max} maps: [${level.name}](#${level.name})`,
    schema: { type: 'array', items: reference(level.name), maxItems: max },
    mistakes: [NOT_A_LIST],
    read(node, at, name) {
      const list = readList(node, at, name);
      if (list === undefined) return undefined;
      if (list.length > max) at.refuse(list, name, `has ${list.length} ${what}; use at most ${max}`);
      const listPath = joinPath(at.path, name);
      return firstItems(list, max).flatMap((item, index) => {
        const path = `${listPath}[${index}]`;
        const fields = at.readMap(item, { level, path });
        return fields === undefined ? [] : [{ fields, path }];
      });
    },
  };
}

/** A list of maps of the level with that name, for another reader: the value is its node. `schema`: more that applies to the list. */
export function listFor(
  levelName: string,
  { accepts = 'a list of maps', schema = {} }: Partial<Pick<FieldType<ListNode>, 'accepts' | 'schema'>> = {},
): FieldType<ListNode> {
  return {
    accepts: `${accepts}: [${levelName}](#${levelName})`,
    schema: { type: 'array', items: reference(levelName), ...schema },
    mistakes: [NOT_A_LIST],
    read: readList,
  };
}

/** A map of names to maps of the level with that name, for another reader: the value is its node. */
export function namedMapsFor(
  levelName: string,
  { max, nameBytesMax, what }: { readonly max: number; readonly nameBytesMax: number; readonly what: string },
): FieldType<MapNode> {
  return {
    accepts: `a map of at most ${max} names to maps: [${levelName}](#${levelName})`,
    schema: {
      type: 'object',
      minProperties: 1,
      maxProperties: max,
      propertyNames: { minLength: 1, maxLength: nameBytesMax },
      additionalProperties: reference(levelName),
    },
    mistakes: [{ write: '[a]', says: `must be a map of names to ${what}, not a list` }],
    read(node, at, name) {
      if (node.kind === 'map') return node;
      at.refuse(node, name, `must be a map of names to ${what}, not ${kindOf(node)}`);
      return undefined;
    },
  };
}

/** A list of keys of entries, each once. */
export function keyList({ max }: { readonly max: number }): FieldType<readonly string[]> {
  return {
    accepts: `a list of 1 to ${max} keys`,
    schema: { type: 'array', items: { ...TEXT_SCHEMA, minLength: 1 }, minItems: 1, maxItems: max, uniqueItems: true },
    mistakes: [NOT_A_LIST, { write: '[""]', says: 'must not have an empty key' }],
    read(node, at, name) {
      const list = readList(node, at, name);
      if (list === undefined) return undefined;
      const keys = firstItems(list, max).map((item) => readText(item, at, name));
      const twice = keys.find((key, i) => keys.indexOf(key) < i);
      if (list.length === 0) at.refuse(list, name, 'is empty; name at least one key, or remove it');
      else if (list.length > max) at.refuse(list, name, `has ${list.length} keys; use at most ${max}`);
      else if (keys.includes('')) at.refuse(list, name, 'must not have an empty key');
      else if (twice !== undefined) at.refuse(list, name, `names ${show(twice)} twice; remove one`);
      else if (!keys.includes(undefined)) return keys.filter((key) => key !== undefined);
      return undefined;
    },
  };
}

const NOT_A_LIST = { write: '{ a: b }', says: 'must be a list, not a map; put a - before the first key of each item' };

function readList(node: ConfigNode, at: FieldReader, name: string): ListNode | undefined {
  if (node.kind === 'list') return node;
  const advice = node.kind === 'map' ? '; put a - before the first key of each item' : '';
  at.refuse(node, name, `must be a list, not ${kindOf(node)}${advice}`);
  return undefined;
}

/** Items beyond the bound are not made. */
export function firstItems({ items }: ListNode, max: number): ConfigNode[] {
  const first: ConfigNode[] = [];
  for (const item of items) {
    if (first.length === max) break;
    first.push(item);
  }
  return first;
}

function reference(levelName: string) {
  return { $ref: `#/$defs/${levelName}` };
}
