/** A RateLimitConfig as the tree that a YAML file of the same meaning would be, so that both are read and compiled alike. */

import type { ConfigNode, MapField } from '../config/config-node';
import type { WireConfigDescriptor, WireRateLimitConfig, WireRateLimitPolicy, WireStruct, WireValue } from './wire';

/** By the numbers of RateLimitUnit; 0 is none. */
const UNITS = [undefined, 'second', 'minute', 'hour', 'day', 'month', 'year', 'week'] as const;

/** A step for each descriptor. Recurses as deep as the message is nested, which its decoder has bounded. */
export function* toConfigNode({ domain = '', descriptors = [] }: WireRateLimitConfig): Generator<undefined, ConfigNode> {
  return mapOf({ domain: textOf(domain), descriptors: yield* toListNode(descriptors) });
}

function* toListNode(descriptors: readonly WireConfigDescriptor[]): Generator<undefined, ConfigNode> {
  const items: ConfigNode[] = [];
  for (const descriptor of descriptors) {
    items.push(yield* toDescriptorNode(descriptor));
    yield;
  }
  return listOf(items);
}

function* toDescriptorNode(descriptor: WireConfigDescriptor): Generator<undefined, ConfigNode> {
  const { key = '', value = '', rate_limit: policy, descriptors = [], metadata } = descriptor;
  return mapOf({
    key: textOf(key),
    value: value === '' ? undefined : textOf(value),
    rate_limit: policy && toPolicyNode(policy),
    descriptors: descriptors.length === 0 ? undefined : yield* toListNode(descriptors),
    shadow_mode: flagOf(descriptor.shadow_mode),
    detailed_metric: flagOf(descriptor.detailed_metric),
    quota_mode: flagOf(descriptor.quota_mode),
    metadata: metadata && toStructNode(metadata),
  });
}

function toPolicyNode({ unit = 0, requests_per_unit: requestsPerUnit = 0, unlimited = false, name = '', replaces = [] }: WireRateLimitPolicy): ConfigNode {
  return mapOf({
    // A number without a name is shown as what it is: no unit.
    unit: unit === 0 ? undefined : textOf(UNITS[unit] ?? String(unit)),
    // On the wire 0 looks as if it were left out: where hits are counted it is meant.
    requests_per_unit: unlimited && requestsPerUnit === 0 ? undefined : plainOf(String(requestsPerUnit)),
    unlimited: flagOf(unlimited),
    name: name === '' ? undefined : textOf(name),
    replaces: replaces.length === 0 ? undefined : listOf(replaces.map((replaced) => mapOf({ name: textOf(replaced.name ?? '') }))),
  });
}

function toStructNode({ fields = {} }: WireStruct): ConfigNode {
  return mapOf(Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, toValueNode(value)])));
}

function toValueNode({ numberValue, stringValue, boolValue, structValue, listValue }: WireValue): ConfigNode {
  if (stringValue !== undefined) return textOf(stringValue);
  if (numberValue !== undefined) return plainOf(numberText(numberValue));
  if (boolValue !== undefined) return plainOf(String(boolValue));
  if (structValue !== undefined) return toStructNode(structValue);
  return listValue === undefined ? plainOf('') : listOf((listValue.values ?? []).map(toValueNode));
}

/** As YAML writes it. */
function numberText(value: number): string {
  if (Number.isNaN(value)) return '.nan';
  if (!Number.isFinite(value)) return value < 0 ? '-.inf' : '.inf';
  return String(value);
}

/** Absent, like what is left out of a file, unless it is set. */
function flagOf(value: boolean | undefined): ConfigNode | undefined {
  return value === true ? plainOf('true') : undefined;
}

/** Like quoted text in YAML: a string, even if it looks like a number. */
function textOf(text: string): ConfigNode {
  return { kind: 'scalar', text, plain: false, offset: 0, size: 1 };
}

function plainOf(text: string): ConfigNode {
  return { kind: 'scalar', text, plain: true, offset: 0, size: 1 };
}

function listOf(items: readonly ConfigNode[]): ConfigNode {
  let size = 1;
  for (const item of items) size += item.size;
  return { kind: 'list', items, offset: 0, size };
}

/** What is undefined is left out. */
function mapOf(values: Readonly<Record<string, ConfigNode | undefined>>): ConfigNode {
  const fields = new Map<string, MapField>();
  let size = 1;
  for (const [name, value] of Object.entries(values)) {
    if (value === undefined) continue;
    fields.set(name, { keyOffset: 0, value });
    size += value.size;
  }
  return { kind: 'map', fields, offset: 0, size };
}
