/** Compiles `reserve` of a descriptor. */

import { toByteString } from '../../domain/descriptor/byte-string';
import type { ByteString } from '../../domain/descriptor/descriptor';
import type { Limit } from '../../domain/rule/limit';
import { makeReserve, RESERVE_PARTS, reservedHits, type Reserve } from '../../domain/rule/reserve/reserve';
import { findChild, type DescriptorLevel } from '../../domain/rule/tree';
import { joinPath, show } from '../../lib/quote';
import { percentText } from '../../lib/value-texts';
import type { DescriptorSpec } from './read/read-file';

export interface ReserveInput {
  /** The descriptor's levels, from the root down to itself. */
  readonly levels: readonly DescriptorSpec[];
  readonly children: DescriptorLevel;
  /** The limits of the descriptor, or of its plans. */
  readonly limits: readonly Limit[];
}

/** Undefined: the descriptor has none, or a problem, which is reported. */
export function compileReserve(spec: DescriptorSpec, input: ReserveInput): Reserve | undefined {
  const { reserve } = spec.fields;
  const { entry, for: parts } = reserve?.value ?? {};
  if (reserve === undefined || entry === undefined || parts === undefined) return undefined;
  const path = joinPath(spec.path, 'reserve');
  const fault = faultOf(entry.value, input);
  if (fault !== undefined) spec.problems.report({ offset: entry.offset, path: joinPath(path, 'entry'), message: fault });
  if (spec.fields.penalty !== undefined) {
    const message = 'conflicts with penalty, whose blocks would deny the requests of all classes; remove one of them';
    spec.problems.report({ offset: reserve.offset, path, message });
  }
  const classes = new Map<ByteString, number>();
  for (const [name, share] of parts.value) {
    const part = Math.round(share * RESERVE_PARTS);
    classes.set(toByteString(name), part);
    const small = input.limits.find(({ capacity }) => capacity > 0 && reservedHits(capacity, part) === 0);
    if (small === undefined) continue;
    const message = `has no effect on a limit of ${small.capacity}: ${percentText(share)} of it is less than one hit; use a larger part`;
    spec.problems.warn({ offset: parts.offset, path: joinPath(joinPath(path, 'for'), name), message });
  }
  return makeReserve({ entry: toByteString(entry.value), level: input.levels.length, parts: classes });
}

function faultOf(entry: string, { levels, children }: ReserveInput): string | undefined {
  const key = toByteString(entry);
  if (levels.some((level) => level.key === entry))
    return `${show(entry)} is a key of this descriptor; name one that comes after its entries`;
  if (children.byValue.has(key) || findChild(children, { key, value: '' }) !== undefined)
    return `${show(entry)} is a key of a descriptor below this one, which wins; rename one of them`;
  return undefined;
}
