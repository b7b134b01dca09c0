/** Reads `in_flight`, before it is compiled. */

import type { ConfigNode } from '../../yaml/config-node';
import type { ValuesOf } from '../field-types/field';
import { IN_FLIGHT, type InFlightFields } from '../fields/in-flight';
import { MapReader } from './map-reader';
import type { FileProblems, PlacedInFile } from '../../problems/problem-list';
import { joinPath } from '../../../lib/quote';

export interface InFlightSpec extends PlacedInFile {
  /** As read. */
  readonly fields: ValuesOf<InFlightFields>;
  readonly max: number;
  readonly holdS: number;
  /** `""` without a name. */
  readonly name: string;
}

/** Undefined if its `max` or `hold` is unusable. `place`: of the descriptor. */
export function readInFlight(
  node: ConfigNode,
  { path: descriptorPath, problems }: { readonly path: string; readonly problems: FileProblems },
): InFlightSpec | undefined {
  const path = joinPath(descriptorPath, 'in_flight');
  const fields = MapReader.open(node, { level: IN_FLIGHT, path, problems })?.values;
  if (fields?.max === undefined || fields.holdS === undefined) return undefined;
  return { fields, max: fields.max.value, holdS: fields.holdS.value, name: fields.name?.value ?? '', offset: node.offset, path, problems };
}
