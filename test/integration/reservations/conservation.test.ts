/** Whatever party of a reservation fails at whatever step, no hit is lost, and no key is left after all terms. */

import { isDeepStrictEqual } from 'node:util';
import type { HttpResponse } from '../../support/clients/http-client';
import { whyNoShiftedClock } from '../../support/clock/shifted-clock';
import { until } from '../../support/clock/until';
import { writeConfig } from '../../support/config/temp-config';
import { figure } from '../../support/docs/figure';
import { ReservationModel } from '../../support/model/reservations';
import { isLong } from '../../support/random/form';
import { randomFrom, seededInFull, type Random } from '../../support/random/random';
import { leg } from '../../support/random/reservation-schedules';
import { AttackedStore, type AttackedStoreOptions, type Fault, type Sent } from '../../support/reservations/attacked-store';

const CAPACITY = 50_000;
const SHARE = 50;
const SLOTS = 4;
const HOLD_S = 1_500;

const CONFIG = writeConfig(`
domain: c
descriptors:
  - key: user
    rate_limit: { unit: day, requests_per_unit: ${CAPACITY}, algorithm: fixed_window, reservations: { max_share: ${SHARE / CAPACITY} } }
  - key: team
    rate_limit: { unit: day, requests_per_unit: ${CAPACITY}, algorithm: fixed_window, reservations: { max_share: 1, on_lapse: charge } }
  - key: lane
    descriptors:
      - key: request_id
        in_flight: { max: ${SLOTS}, hold: ${HOLD_S}s, id: request_id }
`);

/** The clock moves by thousands of seconds, and terms end in the middle: the seconds that the test itself takes decide nothing. */
const STEP_S = 1_000;
const TTLS_S = [500, 1_500, 2_500, 3_500];
const WAITS_MAX = 60;
const LONGEST_S = 7_200;
const DAYS_S = 3 * 86_400;

const KINDS = ['reserve', 'commit', 'release', 'extend', 'take', 'end'] as const;
type Kind = (typeof KINDS)[number];

const STATES = { held: 'HELD', committed: 'COMMITTED', released: 'RELEASED', lapsed: 'LAPSED' } as const;

function entries(fields: Readonly<Record<string, string>>): object {
  return { entries: Object.entries(fields).map(([key, value]) => ({ key, value })) };
}

const HELD_BY = [entries({ user: 'a' }), entries({ team: 'a' })];

const LIMIT = { algorithm: 'fixed_window' as const, windowUs: 86_400_000_000, requestsPerUnit: CAPACITY, capacity: CAPACITY };
const LEGS = [
  leg('user', { limit: LIMIT, shareMax: SHARE, overdraftMax: CAPACITY }),
  leg('team', { limit: LIMIT, shareMax: CAPACITY, overdraftMax: CAPACITY, keepsOnLapse: true }),
];

/** The slots that are taken, by the id of their request, with the time at which each ends. */
class Slots {
  private readonly ends = new Map<string, number>();

  taken(nowUs: number): number {
    for (const [id, endUs] of this.ends) if (endUs <= nowUs) this.ends.delete(id);
    return this.ends.size;
  }

  take(id: string, nowUs: number): boolean {
    if (this.taken(nowUs) >= SLOTS && !this.ends.has(id)) return false;
    this.ends.set(id, nowUs + HOLD_S * 1_000_000);
    return true;
  }

  end(id: string): void {
    this.ends.delete(id);
  }

  get ids(): readonly string[] {
    return [...this.ends.keys()];
  }
}

/** Makes steps with and without faults, and compares each answer, and what the store then counts, with the model. */
class Run {
  private model = new ReservationModel(LEGS);
  private slots = new Slots();
  private ids: string[] = [];
  private made = 0;
  private waits = 0;
  /** Reservations of callers that never come back. */
  private readonly orphans: string[] = [];
  private readonly history: string[] = [];

  constructor(
    private readonly store: AttackedStore,
    private readonly random: Random,
  ) {}

  async step(kind: Kind, fault?: Fault): Promise<void> {
    const { sent, expect: expectAnswer } = this.plan(kind);
    this.history.push(`${fault ?? 'plain'}: ${JSON.stringify(sent)}`);
    if (fault !== undefined) await this.store.sendInto(sent, fault);
    if (fault !== undefined && this.store.loses(fault)) {
      this.model = new ReservationModel(LEGS);
      this.slots = new Slots();
    }
    expectAnswer(await this.store.send(sent));
    await this.look();
  }

  /** A caller that is gone before the answer, and does not come back. */
  async abandon(): Promise<void> {
    const user = `gone${this.orphans.push('') - 1}`;
    const body = { domain: 'c', descriptors: [entries({ user })], hits: 10, ttl: '3500s', id: user };
    await this.store.sendInto({ path: '/v1/reservations', body }, 'client');
  }

  async wait(): Promise<void> {
    if (this.waits >= WAITS_MAX) return;
    this.waits += 1;
    this.history.push(`${STEP_S} s later`);
    this.store.step(STEP_S * 1_000);
    this.model.sweep(this.store.nowUs());
    // A Reserve lapses what is due.
    const of = { domain: 'c', descriptors: [entries({ user: 'look' })] };
    await this.store.send({ path: '/v1/reservations', body: { ...of, hits: 1, id: `look${this.waits}` } });
    await this.store.send({ path: `/v1/reservations/look${this.waits}:release`, body: of });
  }

  /** All terms pass; nobody makes a step any more. */
  async end(): Promise<void> {
    await this.store.restored();
    this.store.step(LONGEST_S * 1_000);
    this.model.sweep(this.store.nowUs());
    expect(this.model.held()).toEqual([0, 0]);
    await until(async () => (await this.held()).length === 0 && isDeepStrictEqual(await this.counted(), this.modelled()));
    await this.look();
    expect(this.slots.taken(this.store.nowUs())).toBe(0);
    for (const i of this.orphans.keys()) expect(await this.used({ user: `gone${i}` })).toEqual([0]);
    await this.vanish();
  }

  private async vanish(): Promise<void> {
    await this.store.stopWeirs();
    this.store.step(DAYS_S * 1_000);
    expect(await this.store.keys()).toEqual([]);
  }

  /** The same, of steps whose outcome the model does not know. Resolves to the hits used. */
  async endLocally({ least, most }: { readonly least: number; readonly most: number }): Promise<number> {
    await this.store.restored();
    this.store.step(LONGEST_S * 1_000);
    await until(async () => {
      const [used = -1] = await this.used({ user: 'a' });
      return (await this.held()).length === 0 && used >= least && used <= most;
    });
    const [used = -1] = await this.used({ user: 'a' });
    await this.vanish();
    return used;
  }

  private async used(...of: readonly Readonly<Record<string, string>>[]): Promise<readonly number[]> {
    const body = { domain: 'c', descriptors: of.map((fields) => ({ ...entries(fields), hitsAddend: '0' })) };
    const { statuses } = JSON.parse((await this.store.send({ path: '/json', body })).body) as { statuses: readonly Status[] };
    return statuses.map(({ currentLimit, limitRemaining = 0 }) => currentLimit.requestsPerUnit - limitRemaining);
  }

  private async held(): Promise<readonly string[]> {
    return (await this.store.keys()).filter((key) => /^weir:(?:holds|lapses)/.test(key));
  }

  private async look(): Promise<void> {
    const counted = await this.counted();
    this.history.push(`  counted ${counted.join(', ')}`);
    this.check(counted, this.modelled());
  }

  /** A difference is shown with the steps before it. */
  private check(seen: unknown, modelled: unknown): void {
    if (!isDeepStrictEqual(seen, modelled))
      throw new Error(`${JSON.stringify({ seen, modelled })} after\n${this.history.slice(-40).join('\n')}`);
  }

  private counted(): Promise<readonly number[]> {
    return this.used({ user: 'a' }, { team: 'a' }, { lane: 'a', request_id: '' });
  }

  private modelled(): readonly number[] {
    return [...this.model.used, this.slots.taken(this.store.nowUs())];
  }

  private plan(kind: Kind): { readonly sent: Sent; readonly expect: (answer: HttpResponse) => void } {
    if (kind === 'take' || kind === 'end') return this.planSlot(kind);
    const isNew = this.ids.length === 0 || (kind === 'reserve' && this.random(4) > 0) || this.random(8) === 0;
    if (isNew) this.ids = [...this.ids.slice(-5), `r${(this.made += 1)}`];
    const id = isNew ? this.ids.at(-1)! : this.ids[this.random(this.ids.length)]!;
    const hits = 1 + this.random(20);
    const ttlS = TTLS_S[this.random(TTLS_S.length)]!;
    const fields = { reserve: { hits, id, ttl: `${ttlS}s` }, commit: { hits }, release: {}, extend: { ttl: `${ttlS}s` } }[kind];
    const sent = {
      path: kind === 'reserve' ? '/v1/reservations' : `/v1/reservations/${id}:${kind}`,
      body: { domain: 'c', descriptors: HELD_BY, ...fields },
    };
    const nowUs = () => this.store.nowUs();
    const ttlUs = ttlS * 1_000_000;
    const modelled = {
      reserve: () => this.model.reserve(id, hits, ttlUs, nowUs()),
      commit: () => this.model.settle(id, 'committed', hits, nowUs()),
      release: () => this.model.settle(id, 'released', 0, nowUs()),
      extend: () => this.model.extend(id, ttlUs, nowUs()),
    };
    return {
      sent,
      expect: ({ status, body }) => {
        const { state, granted } = modelled[kind]();
        const answer = { status, ...pick(body) };
        if (state === 'denied' || state === 'none') this.check(status, state === 'denied' ? 429 : 404);
        else this.check(answer, { status: 200, state: STATES[state], grantedHits: granted });
      },
    };
  }

  private planSlot(kind: 'take' | 'end'): { readonly sent: Sent; readonly expect: (answer: HttpResponse) => void } {
    const { ids } = this.slots;
    const isNew = kind === 'take' || ids.length === 0;
    const id = isNew ? `s${(this.made += 1)}` : ids[this.random(ids.length)]!;
    const end = kind === 'end' ? { isNegativeHits: true } : {};
    const descriptor = { ...entries({ lane: 'a', request_id: id }), hitsAddend: '1', ...end };
    return {
      sent: { path: '/json', body: { domain: 'c', descriptors: [descriptor] } },
      expect: ({ status }) => {
        if (kind === 'end') this.slots.end(id);
        const isOk = kind === 'end' || this.slots.take(id, this.store.nowUs());
        this.check(status, isOk ? 200 : 429);
      },
    };
  }
}

interface Status {
  readonly currentLimit: { readonly requestsPerUnit: number };
  readonly limitRemaining?: number;
}

function pick(body: string): object {
  const { state, grantedHits } = JSON.parse(body) as { readonly state?: string; readonly grantedHits?: string };
  return { state, grantedHits: Number(grantedHits ?? 0) };
}

/** Every fault at every kind of step, in a random order. */
function attacks(faults: readonly Fault[], rounds: number, random: Random): readonly (readonly [Kind, Fault])[] {
  const all = Array.from({ length: rounds }, () => KINDS.flatMap((kind) => faults.map((fault) => [kind, fault] as const))).flat();
  return all
    .map((attack) => ({ attack, at: random(1_000_000) }))
    .sort((one, other) => one.at - other.at)
    .map(({ attack }) => attack);
}

const reason = whyNoShiftedClock();
const testOrSkip = reason === undefined ? test : test.skip;

const ROUNDS = isLong ? 10 : 1;
const PLAIN_STEPS = 3;

interface Case extends Pick<AttackedStoreOptions, 'store' | 'isDurable'> {
  readonly name: string;
  readonly faults: readonly Fault[];
}

const CASES: readonly Case[] = [
  { name: 'a Redis that keeps all', store: 'redis', isDurable: true, faults: ['weir', 'redis', 'frozen', 'full', 'client'] },
  { name: 'a Redis that keeps nothing', store: 'redis', faults: ['redis', 'emptied'] },
  { name: 'the embedded store', store: 'memory', faults: ['weir', 'client'] },
];

testOrSkip.each(CASES)(
  '$name: a party that fails at any step changes nothing but what it loses, and in the end nothing is left',
  async ({ faults, ...options }) => {
    const random = randomFrom(seededInFull(ROUNDS));
    const store = await AttackedStore.open({ ...options, failureMode: 'unavailable', config: CONFIG, random });
    const run = new Run(store, random);
    const planned = attacks(faults, ROUNDS, random);
    for (const [kind, fault] of planned) {
      for (let i = 0; i < PLAIN_STEPS; i += 1) await run.step(KINDS[random(KINDS.length)]!);
      if (random(2) === 0) await run.wait();
      if (random(4) === 0) await run.abandon();
      await run.step(kind, fault);
    }
    await run.end();
    figure(`${planned.length} faults, ${(PLAIN_STEPS + 1) * planned.length} steps`);
    await store.close();
  },
  1_200_000,
);

/** One reservation from its Reserve to its end, with a fault at one of its steps; how much it may have left charged in the end. */
async function live(store: AttackedStore, random: Random, life: { readonly id: string; readonly fault?: Fault; readonly at: Kind }) {
  const { id, fault, at } = life;
  const hits = 1 + random(20);
  const of = { domain: 'c', descriptors: [entries({ user: 'a' })] };
  const steps = [
    { kind: 'reserve', sent: { path: '/v1/reservations', body: { ...of, hits, id, ttl: '3500s' } } },
    { kind: 'extend', sent: { path: `/v1/reservations/${id}:extend`, body: { ...of, ttl: '3500s' } } },
    { kind: random(4) === 0 ? 'release' : 'commit', sent: { path: '', body: { ...of, hits } } },
  ] as const;
  let isDegraded = false;
  for (const { kind, sent } of steps) {
    const step = sent.path === '' ? { path: `/v1/reservations/${id}:${kind}`, body: sent.body } : sent;
    if (kind === at && fault !== undefined) await store.sendInto(step, fault);
    const { body } = await store.send(step);
    isDegraded ||= (JSON.parse(body) as { readonly degraded?: boolean }).degraded === true;
  }
  const used = steps[2].kind === 'commit' ? hits : 0;
  // Two copies of a step in an outage may count, and what was held where nobody can ask any more.
  return isDegraded || fault !== undefined ? { least: isDegraded ? 0 : used, most: hits + 2 * used } : { least: used, most: used };
}

testOrSkip(
  'failure mode local: what is charged in the end lies between what was used and what the page says, and nothing is left',
  async () => {
    const random = randomFrom(seededInFull(ROUNDS));
    const store = await AttackedStore.open({ store: 'redis', isDurable: true, failureMode: 'local', config: CONFIG, random });
    const run = new Run(store, random);
    const bounds = { least: 0, most: 0 };
    const planned = attacks(['weir', 'redis', 'frozen', 'client'], ROUNDS, random).filter(([kind]) => kind !== 'take' && kind !== 'end');
    for (const [i, [at, fault]] of planned.entries()) {
      for (const life of [
        { id: `p${i}`, at },
        { id: `f${i}`, at, fault },
      ]) {
        const { least, most } = await live(store, random, life);
        bounds.least += least;
        bounds.most += most;
      }
    }
    const used = await run.endLocally(bounds);
    figure(`${planned.length} faults: ${used} hits charged of ${bounds.least} to ${bounds.most}`);
    await store.close();
  },
  1_200_000,
);
