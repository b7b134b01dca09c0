/** Encodes the lapse of expired reservations, many in one run of `lua/reserve.lua`, and decodes its reply. */

import { TRAITS } from '../../domain/algorithm/algorithms';
import type { ReservationRecord, SettledLeg } from '../../domain/decide/reservation';
import { StoreError } from '../store/port/store-error';
import { readWhole } from '../store/redis/client/read-reply';
import { pushLimit, TIME_US_MAX, type ScriptArguments } from '../store/redis/script-wire';
import { ReplyError } from '../store/redis/client/reply-error';
import type { ReservationKeys } from './reservation-keys';
import { decodeRecord, legsOfPlan, timedList } from './reservation-wire';

/** Most bytes of records in one reply: a fraction of a millisecond. */
const BYTES_MAX = 65_536;

/** A reservation that is due. Without a record its value is not one, and it is dropped. */
export interface Due {
  readonly id: string;
  readonly plan: string;
  readonly legs: readonly SettledLeg[];
  readonly record?: ReservationRecord;
}

export interface LapseInput {
  readonly tag: string;
  /** They lapse, if they are still held. */
  readonly due: readonly Due[];
  /** Most ids in the reply. */
  readonly idsMax: number;
}

export interface LapseReply {
  /** By Redis's clock. */
  readonly nowUs: number;
  readonly held: number;
  /** The first lapse to come; 0: nothing is held. */
  readonly firstUs: number;
  /** For each reservation of `due`, whether it lapsed now. */
  readonly lapsed: readonly boolean[];
  /** Reservations that are due next. */
  readonly due: readonly Due[];
  /** Ids in the reply, which is full with the most asked for. */
  readonly isFull: boolean;
}

export function encodeLapse({ tag, due, idsMax }: LapseInput, keys: ReservationKeys): ScriptArguments {
  const names = [keys.lapses(tag), keys.holds(tag), ...due.map(({ id }) => keys.record({ tag, id }))];
  const places = new Map<string, number>();
  const placeOf = (bucketKey: string): string => {
    const known = places.get(bucketKey) ?? names.push(bucketKey);
    places.set(bucketKey, known);
    return String(known);
  };
  const plans = new Map<string, number>();
  const planArgs: string[] = [];
  const idArgs: string[] = [];
  for (const { id, plan, legs, record } of due) {
    if (record !== undefined && !plans.has(plan)) {
      plans.set(plan, plans.size + 1);
      planArgs.push(String(legs.length));
      for (const { bucketKey, limit, keepsOnLapse } of legs) {
        planArgs.push(placeOf(bucketKey), TRAITS[limit.algorithm].scriptCode, keepsOnLapse ? '1' : '0');
        pushLimit(planArgs, limit);
      }
    }
    idArgs.push(id, String(record === undefined ? 0 : plans.get(plan)), String(record?.madeUs ?? 0));
  }
  const args = ['lapse', String(idsMax), String(BYTES_MAX), String(due.length), String(plans.size), ...planArgs, ...idArgs];
  return { keys: names, args };
}

export function decodeLapse(reply: unknown, { due: asked, idsMax }: Pick<LapseInput, 'due' | 'idsMax'>): LapseReply {
  const {
    nowUs,
    rest: [held, firstUs, flags, ...ids],
  } = timedList(reply);
  const isValid = ids.length <= 2 * idsMax && ids.length % 2 === 0 && ids.every((each) => typeof each === 'string');
  if (!isValid || typeof flags !== 'string' || flags.length !== asked.length || /[^01]/.test(flags))
    throw new ReplyError('it has other elements than the lapsed and the requested ids');
  const due: Due[] = [];
  for (let i = 0; i < ids.length; i += 2) {
    const [id = '', value = ''] = ids.slice(i, i + 2);
    if (value !== '') due.push(readDue(id, value));
  }
  return {
    nowUs,
    held: readWhole(held, 0, Number.MAX_SAFE_INTEGER),
    firstUs: readWhole(firstUs, 0, TIME_US_MAX),
    lapsed: Array.from(flags, (flag) => flag === '1'),
    due,
    isFull: ids.length > 0,
  };
}

/** An id that another program wrote must not keep others from lapsing. */
function readDue(id: string, value: string): Due {
  try {
    const { record, plan } = decodeRecord(value);
    const legs = legsOfPlan(plan);
    if (record.state === 'held' && legs.length === record.charges.length) return { id, plan, legs, record };
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
  }
  return { id, plan: '', legs: [] };
}
