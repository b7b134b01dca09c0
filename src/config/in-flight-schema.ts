/** The shape of `in_flight`: what a descriptor says of its requests in flight, before anything is made of it. */

import { HOLD_S_MAX, IN_FLIGHT_MAX } from '../rule/in-flight';
import type { FailureMode, ResponseHeaders } from '../rule/limit';
import { FAILURE_MODE_CHOICE, readName, RESPONSE_HEADERS_CHOICE, type Place } from './limit-schema';
import { MapReader, type Located } from './map-reader';
import type { PlacedInFile } from './problem-list';
import { joinPath, show } from './show';

export interface InFlightSpec extends PlacedInFile {
  readonly max: number;
  readonly holdS: number;
  /** Key of the entry that identifies a request. */
  readonly id?: Located<string>;
  /** `""` if it has none. */
  readonly name: string;
  readonly failureMode?: FailureMode;
  readonly responseHeaders?: ResponseHeaders;
}

const HOLD = /^(?:(\d{1,2})h)?(?:(\d{1,4})m)?(?:(\d{1,5})s)?$/;

/** Undefined if the descriptor says none, or without a usable `max` and `hold`. */
export function readInFlight(descriptor: MapReader, place: Place): InFlightSpec | undefined {
  const node = descriptor.child('in_flight');
  if (node === undefined) return undefined;
  const { problems } = place;
  const path = joinPath(place.path, 'in_flight');
  const reader = MapReader.open(node, { level: 'in_flight', path, problems });
  if (reader === undefined) return undefined;
  const max = readMax(reader, { path, problems });
  const holdS = readHoldS(reader, { path, problems });
  const id = reader.optionalText('id');
  const name = readName(reader, { path, problems });
  const failureMode = reader.choice('failure_mode', FAILURE_MODE_CHOICE);
  const responseHeaders = reader.choice('response_headers', RESPONSE_HEADERS_CHOICE);
  if (max === undefined || holdS === undefined) return undefined;
  return {
    max,
    holdS,
    name,
    offset: reader.offset,
    path,
    problems,
    ...(id && { id }),
    ...(failureMode && { failureMode: failureMode.value }),
    ...(responseHeaders && { responseHeaders: responseHeaders.value }),
  };
}

function readMax(reader: MapReader, { path, problems }: Place): number | undefined {
  if (reader.child('max') === undefined) reader.reportMissing('max', 'say how many requests may be in flight at once');
  const max = reader.uint32('max');
  if (max === undefined || max.value <= IN_FLIGHT_MAX) return max?.value;
  problems.report({ offset: max.offset, path: joinPath(path, 'max'), message: `${max.value} is over ${IN_FLIGHT_MAX}, the most slots that a bucket has; use a smaller one` });
  return undefined;
}

/** In seconds. */
function readHoldS(reader: MapReader, { path, problems }: Place): number | undefined {
  if (reader.child('hold') === undefined) reader.reportMissing('hold', 'say how long a slot is held that nobody releases, such as 60s');
  const hold = reader.text('hold');
  if (hold === undefined) return undefined;
  const [whole = '', hours = '0', minutes = '0', seconds = '0'] = HOLD.exec(hold.value) ?? [];
  const holdS = Number(hours) * 3_600 + Number(minutes) * 60 + Number(seconds);
  if (whole !== '' && holdS >= 1 && holdS <= HOLD_S_MAX) return holdS;
  const message = `${show(hold.value)} is not accepted; use whole seconds, minutes or hours from 1s to 24h, such as 60s, 5m or 1h30m`;
  problems.report({ offset: hold.offset, path: joinPath(path, 'hold'), message });
  return undefined;
}
