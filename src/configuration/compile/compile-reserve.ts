/** Compiles `reserve` of a descriptor. */

import { toByteString } from '../../domain/descriptor/byte-string';
import type { ByteString } from '../../domain/descriptor/descriptor';
import type { Limit } from '../../domain/rule/limit';
import { makeReserve, RESERVE_PARTS, reservedHits, type Reserve } from '../../domain/rule/reserve/reserve';
import { joinPath } from '../../lib/quote';
import { percentText } from '../../lib/value-texts';
import { lastEntryFault, type LastEntryPlace } from './last-entry-fault';
import type { DescriptorSpec } from './read/read-file';

export interface ReserveInput extends LastEntryPlace {
  /** The limits of the descriptor, or of its plans. */
  readonly limits: readonly Limit[];
}

/** Undefined: the descriptor has none, or a problem, which is reported. */
export function compileReserve(spec: DescriptorSpec, input: ReserveInput): Reserve | undefined {
  const { reserve } = spec.fields;
  const { entry, for: parts } = reserve?.value ?? {};
  if (reserve === undefined || entry === undefined || parts === undefined) return undefined;
  const path = joinPath(spec.path, 'reserve');
  const fault = lastEntryFault(entry.value, input);
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
