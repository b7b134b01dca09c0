/** Whether all requests that reached the backend were counted: each by a call to Weir that passed it, under a limit of this caller. */
import type { RawRequest } from '../../support/clients/raw-request';
import type { Caller } from '../examples/target';
import type { Received } from './raw-backend';
import type { Asked, Call } from './relay';
import { forgivenPath, isWithin, plainPath } from './resource';
import type { Subject } from './subjects';

export interface Seen {
  readonly subject: Subject;
  readonly caller: Caller;
  /** What was changed. */
  readonly plain: RawRequest;
  /** Whether the caller has its answers complete. */
  readonly hungUp: boolean;
  readonly received: readonly Received[];
  readonly calls: readonly Call[];
}

/** Values of descriptors that are this caller's, and nobody else's. */
function ownValues({ subject, caller, plain }: Seen, mustBeNamed: boolean): ReadonlySet<string> {
  const other = subject.descriptor({ name: `${caller.name}-other`, address: '127.0.0.250' });
  const differing = Object.entries(subject.descriptor(caller)).flatMap(([key, value]) => (other[key] === value ? [] : [value]));
  const { from = caller.address } = plain;
  return new Set(mustBeNamed ? differing : [...differing, ...[caller.address, from].flatMap((address) => [address, `${address}/32`])]);
}

/** Whether the backend learns whose request it is, from a token or from what Envoy writes: then the limit has to be that one's. */
function names({ plain, caller }: Seen, received: Received): boolean {
  const [, token] = plain.headers?.find(([name]) => name === 'authorization') ?? [];
  const hasToken =
    token !== undefined &&
    received.head.split('\n').some((line) => /^authorization\W/i.test(line) && line.includes(token.slice('Bearer '.length)));
  return hasToken || received.head.includes(caller.name);
}

/** The smallest number of such requests that a call counts towards, or the limit itself where requests have costs; Infinity: it counts none for this caller. */
function limitOf({ passed, descriptors }: Call, own: ReadonlySet<string>, hasCosts: boolean): number {
  if (!passed) return Infinity;
  const limits = descriptors.flatMap(({ entries, hits, limit }) => {
    const counts = limit !== undefined && (hasCosts || hits > 0) && entries.some(({ value }) => own.has(value));
    return counts ? [hasCosts ? limit : Math.floor(limit / hits)] : [];
  });
  return Math.min(Infinity, ...limits);
}

function isDescriptor({ entries }: Asked, expected: Readonly<Record<string, string>>): boolean {
  const all = Object.entries(expected);
  return all.length === entries.length && all.every(([key, value], index) => entries[index]?.key === key && entries[index].value === value);
}

/** Whether it is what the limit is for: also by a spelling that only forgiving servers take for it, unless the configuration means those to be other paths. */
function isLimited({ subject, plain }: Seen, { target }: Received): boolean {
  const [resource = '/'] = plain.target.split('?');
  if (isWithin(plainPath(target), plainPath(resource))) return true;
  return subject.forgiving === undefined && isWithin(forgivenPath(target), forgivenPath(resource));
}

/** The limit that a request may have: of its resource, or of its kind. */
function boundOf(seen: Seen, received: Received, usual: number): number {
  return isLimited(seen, received) ? (seen.subject.bound?.(received) ?? usual) : Number.MAX_SAFE_INTEGER;
}

/** Whether it is another request by design: of a kind with a limit of its own, or of nobody in particular where callers have names. */
export function hasLimitOfItsOwn(seen: Seen, received: Received): boolean {
  const { subject, plain } = seen;
  if (subject.bound?.(received) !== undefined) return true;
  const isNamed = plain.headers?.some(([name]) => name === 'authorization') === true;
  return isNamed && !names(seen, received);
}

/** The limits that the calls count towards, the smallest first. */
export function limitsIn(seen: Seen): readonly number[] {
  const own = ownValues(
    seen,
    seen.received.some((request) => names(seen, request)),
  );
  return seen.calls
    .map((call) => limitOf(call, own, seen.subject.cost !== undefined))
    .filter((limit) => limit < Infinity)
    .sort((a, b) => a - b);
}

/** `usual`: the smallest limit that the request counts towards as it is. Undefined: all is counted. */
export function escapeOf(seen: Seen, usual: number): string | undefined {
  const { subject } = seen;
  const named = seen.received.filter((request) => names(seen, request));
  if (named.length > 0 && named.length < seen.received.length) {
    // A request without the token, inside of the body of one with it, counts as that of nobody in particular.
    const own = ownValues(seen, true);
    const calls = seen.calls.filter((call) => limitOf(call, own, subject.cost !== undefined) === Infinity);
    const others = seen.received.filter((request) => !named.includes(request));
    return escapeOf({ ...seen, received: named }, usual) ?? escapeOf({ ...seen, received: others, calls }, usual);
  }
  const received = subject.byConnection === undefined ? seen.received : firstOfConnections(seen.received);
  const limits = limitsIn(seen);
  const bounds = received.map((request) => boundOf(seen, request, Math.max(usual, subject.total ?? 0))).sort((a, b) => a - b);
  if (limits.length < bounds.length) return `${bounds.length} reached the backend, ${limits.length} were counted for this caller`;
  const laxer = bounds.findIndex((bound, index) => limits[index]! > bound);
  if (laxer >= 0) return `counted under a limit of ${limits[laxer]} in place of ${bounds[laxer]}`;
  return uncharged(seen);
}

function uncharged(seen: Seen): string | undefined {
  const { subject, caller, hungUp, received, calls } = seen;
  const due = received.reduce((sum, request) => sum + (isLimited(seen, request) ? (subject.cost?.(request, hungUp) ?? 0) : 0), 0);
  const charged = calls
    .flatMap(({ descriptors }) => descriptors)
    .reduce((sum, asked) => sum + (isDescriptor(asked, subject.descriptor(caller)) ? asked.hits : 0), 0);
  return charged < due ? `charged ${charged} of ${due} hits` : undefined;
}

function firstOfConnections(received: readonly Received[]): readonly Received[] {
  return received.filter(({ connection }, index) => received.findIndex((each) => each.connection === connection) === index);
}
