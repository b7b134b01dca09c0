/** Every mutant of the Lua scripts fails a test, or is equivalent. */

import { mkdirSync, writeFileSync, writeSync } from 'node:fs';
import path from 'node:path';
import { loadClockedScripts } from '../support/redis/clocked-script';
import { isLong } from '../support/random/form';
import { sampled } from '../support/random/random';
import { EQUIVALENT } from './equivalent';
import { KillOrder, type Batch } from './kill-suite';
import { CLOCK_FILE, loadParts, scriptsWith } from './lua-parts';
import { mutantsOf, type Mutant } from './mutate';
import { SHORT_PART } from '../support/random/short-part';
import { DeadlineError, startMutantRedis, type MutantRedis } from './mutant-redis';
import { findClockFault } from './real-clock';
import { loadBatches } from './scenarios';
import { figure } from '../support/docs/figure';

const CACHE_DIR = path.join(__dirname, '..', '..', '.cache');
const TIMEOUT_MS = 600_000;
const STDERR = 2;

const batches = loadBatches();
const order = new KillOrder(batches);
const mutants = loadParts().flatMap(mutantsOf);

let redises: readonly MutantRedis[];

beforeAll(async () => {
  redises = await Promise.all([startMutantRedis(), startMutantRedis()]);
});

afterAll(() => Promise.all(redises.map((redis) => redis.stop())));

test('each mutant has a unique name, and each one listed as equivalent exists', () => {
  const ids = mutants.map(({ id }) => id);
  expect(ids.filter((id, i) => ids.indexOf(id) !== i)).toEqual([]);
  expect(Object.keys(EQUIVALENT).filter((id) => !ids.includes(id))).toEqual([]);
});

test('the unchanged scripts have no fault', async () => {
  const [redis] = redises;
  const clock = loadParts().find(({ file }) => file === CLOCK_FILE)!;
  expect(await faultOf({ part: clock, text: clock.text }, redis!)).toBeUndefined();
  const scripts = loadClockedScripts();
  await redis!.load(scripts);
  expect(await order.findFault(scripts, redis!.sendAll)).toBeUndefined();
});

test(
  'the scenarios kill every mutant that is not listed as equivalent',
  async () => {
    const tried = sampled(mutants, { part: SHORT_PART });
    const killers = await faultsOf(tried);
    const rows = tried.map((mutant) => ({ mutant, killer: killers.get(mutant), why: EQUIVALENT[mutant.id] }));
    print(rows);
    const names = (some: typeof rows) => some.map(({ mutant }) => mutant.id);
    expect({
      survivors: names(rows.filter(({ killer, why }) => killer === undefined && why === undefined)),
      killedThoughListed: names(rows.filter(({ killer, why }) => killer !== undefined && why !== undefined)),
    }).toEqual({ survivors: [], killedThoughListed: [] });
  },
  TIMEOUT_MS,
);

/** What kills each mutant; two are tried at a time, each on a Redis of its own. */
async function faultsOf(tried: readonly Mutant[]): Promise<ReadonlyMap<Mutant, string | undefined>> {
  const killers = new Map<Mutant, string | undefined>();
  const queue = tried.values();
  await Promise.all(
    redises.map(async (redis) => {
      for (const mutant of queue) killers.set(mutant, await faultOf(mutant, redis));
    }),
  );
  return killers;
}

/** Nothing kills an equivalent mutant, so that it faces all there is: in the short form, what was written by hand. */
function byHand({ name }: Batch): boolean {
  return !name.startsWith('random');
}

async function faultOf(
  { id, ...mutant }: Pick<Mutant, 'part' | 'text'> & Partial<Pick<Mutant, 'id'>>,
  redis: MutantRedis,
): Promise<string | undefined> {
  const scripts = scriptsWith(mutant);
  try {
    await redis.load(scripts);
    if (mutant.part.file === CLOCK_FILE) return await findClockFault(scripts.take, redis.sendAll);
    return await order.findFault(scripts, redis.sendAll, {
      among: isLong || id === undefined || EQUIVALENT[id] === undefined ? undefined : byHand,
    });
  } catch (error) {
    if (error instanceof DeadlineError) return error.message;
    throw error;
  }
}

function print(rows: readonly { readonly mutant: Mutant; readonly killer: string | undefined; readonly why: string | undefined }[]): void {
  const width = String(rows.length).length;
  const lines = rows.map(({ mutant: { id, part, line }, killer, why }, i) => {
    const fate = killer === undefined ? (why === undefined ? 'SURVIVED' : `equivalent: ${why}`) : `killed by ${killer}`;
    return `${String(i + 1).padStart(width)}  ${part.file}:${line}  ${id.slice(part.file.length + 1)}  =>  ${fate}`;
  });
  const killed = rows.filter(({ killer }) => killer !== undefined).length;
  const equivalent = rows.filter(({ killer, why }) => killer === undefined && why !== undefined).length;
  const table = `${lines.join('\n')}\n`;
  mkdirSync(CACHE_DIR, { recursive: true });
  writeFileSync(path.join(CACHE_DIR, 'mutants.txt'), table);
  writeSync(STDERR, table);
  figure(`${rows.length} of ${mutants.length} tried: ${killed} killed, ${equivalent} equivalent`);
}
