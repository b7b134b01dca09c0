/** Every mutant of the scripts of control data answers or stores something else, or is equivalent. */

import { loadClockedScript } from '../support/redis/clocked-script';
import { figure } from '../support/docs/figure';
import { randomFrom, sampled } from '../support/random/random';
import { openClockedRedis } from '../support/redis/redis-store';
import { startRedis } from '../support/redis/redis-server';
import type { Script } from '../../src/state/store/redis/script-loader';
import { CONTROL_EQUIVALENT } from './control/control-equivalent';
import { BIG_LIVES, EDGE_LIVES } from './control/control-edge-lives';
import { HAND_MADE, liveRandomly } from './control/control-lives';
import {
  CONTROL_SCRIPTS,
  CONTROL_SPACE,
  startRecorder,
  type ControlScriptName,
  type RecordedLife,
  type Recorder,
} from './control/control-recorder';
import { readPart, withMain } from './lua-parts';
import { mutantsOf } from './mutate';
import { SHORT_PART } from '../support/random/short-part';
import { DeadlineError, startMutantRedis, type MutantRedis } from './mutant-redis';

const RANDOM_LIVES = 40;
const SEED = 20_261_123;
const STARTED_WITHIN_MS = 60_000;
const TIMEOUT_MS = 1_200_000;

/** Lives that are lived between two looks at the replies. */
const LIVES_AT_ONCE = 10;

const NAMES: readonly ControlScriptName[] = ['write', 'read'];
const WRITE_ID_MS = 3_600_000;

/** Among the keys of a write. */
const WRITE_ID_AT = 11;

/** A write takes seconds at most until its id is looked at. */
const LATE_MS = 60_000;

const parts = NAMES.map((name) => ({ name, part: readPart(`control-${name}.lua`) }));
const mutants = parts.flatMap(({ name, part }) => mutantsOf(part).map((mutant) => ({ name, ...mutant })));

let redis: MutantRedis;
let lives: readonly RecordedLife[];
let differences: readonly string[];
/** What the unchanged scripts answer and store, by life. */
let expected: readonly string[];

beforeAll(async () => {
  const server = await startRedis();
  const clocked = await openClockedRedis(server);
  // '~' trims whole nodes: of one entry each, it trims exactly.
  await clocked.client.sendCommand(['CONFIG', 'SET', 'stream-node-max-entries', '1']);
  const made: RecordedLife[] = [];
  const found: string[] = [];
  const record = async (name: string, live: (life: Recorder) => Promise<void>) => {
    await clocked.client.flushAll();
    const recorder = startRecorder(clocked);
    await live(recorder);
    made.push({ name, calls: recorder.calls });
  };
  for (const { name, live } of [...HAND_MADE, ...EDGE_LIVES]) await record(name, live);
  const random = randomFrom({ seed: SEED });
  for (let i = 0; i < RANDOM_LIVES; i += 1)
    await record(`random life ${i + 1}`, async (life) => {
      found.push(...(await liveRandomly(life, random)));
    });
  for (const { name, live } of BIG_LIVES) await record(name, live);
  await clocked.close();
  await server.stop();
  [lives, differences] = [made, found];
  redis = await startMutantRedis();
  await redis.sendAll([['CONFIG', 'SET', 'stream-node-max-entries', '1']]);
  expected = await resultsOf(lives, CONTROL_SCRIPTS);
}, STARTED_WITHIN_MS);

afterAll(() => redis.stop());

type Scripts = Readonly<Record<ControlScriptName, Script>>;

/** What each life answers and leaves in Redis. */
async function resultsOf(some: readonly RecordedLife[], scripts: Scripts): Promise<readonly string[]> {
  const batches = some.map((life) => commandsOf(life, scripts));
  const commands = [['SCRIPT', 'FLUSH'], ...NAMES.map((name) => ['SCRIPT', 'LOAD', scripts[name].text]), ...batches.flat()];
  const replies = (await redis.sendAll(commands)).slice(1 + NAMES.length);
  return batches.map((batch) =>
    replies
      .splice(0, batch.length)
      .map((reply, i) => inOrder(batch[i]!, textOf(reply)))
      .join('\n'),
  );
}

/** A large hash has an order of its own in each Redis. */
function inOrder(command: readonly string[], text: string): string {
  return ['scan', 'fields', 'HGETALL'].some((word) => command.includes(word)) ? text.split(/[,\n]/).sort().join(',') : text;
}

function commandsOf({ calls }: RecordedLife, scripts: Scripts): readonly (readonly string[])[] {
  const ids = [...new Set(calls.flatMap((call) => ('script' in call && call.script === 'write' ? call.keys.slice(WRITE_ID_AT) : [])))];
  return [
    ['FLUSHALL'],
    ...calls.flatMap((call) =>
      'command' in call
        ? [call.command]
        : [
            ['SET', 'test-clock-us', String(call.nowUs)],
            ['EVALSHA', scripts[call.script].sha, String(call.keys.length), ...call.keys, ...call.args],
          ],
    ),
    ['HGETALL', `${CONTROL_SPACE}about`],
    ['XRANGE', `${CONTROL_SPACE}log`, '-', '+'],
    ['XRANGE', `${CONTROL_SPACE}audit`, '-', '+'],
    ['XRANGE', `${CONTROL_SPACE}penalties`, '-', '+'],
    ['ZRANGE', `${CONTROL_SPACE}ends`, '0', '-1', 'WITHSCORES'],
    ['ZRANGE', `${CONTROL_SPACE}penalty-ends`, '0', '-1', 'WITHSCORES'],
    ...['tenant', 'plan', 'override', 'block', 'pass', 'rollout'].map((kind) => ['HGETALL', `${CONTROL_SPACE}record:${kind}`]),
    ...ids.flatMap((id) => [
      ['GET', id],
      ['PTTL', id],
    ]),
    ['DBSIZE'],
  ];
}

/** Without the ids of the audit log, which are of Redis's own clock, and the milliseconds since an id was written. */
function textOf(reply: unknown): string {
  if (typeof reply === 'number' && reply > WRITE_ID_MS - LATE_MS && reply <= WRITE_ID_MS) return 'an hour';
  // Behind it stands where in the script, which each mutant has elsewhere.
  if (reply instanceof Error) return `error ${reply.message.replace(/ script: .*/, '')}`;
  if (Buffer.isBuffer(reply)) return reply.toString('latin1').replaceAll(/\b\d{13}-\d+\b/g, 'ID');
  return Array.isArray(reply) ? `[${reply.map(textOf).join(',')}]` : String(reply);
}

/** The first life that differs; undefined: none does. */
async function faultOf(scripts: Scripts): Promise<string | undefined> {
  try {
    for (let at = 0; at < lives.length; at += LIVES_AT_ONCE) {
      const results = await resultsOf(lives.slice(at, at + LIVES_AT_ONCE), scripts);
      const wrong = results.findIndex((result, i) => result !== expected[at + i]);
      if (wrong >= 0) return lives[at + wrong]?.name;
    }
    return undefined;
  } catch (error) {
    if (!(error instanceof DeadlineError)) throw error;
    await redis.sendAll([['CONFIG', 'SET', 'stream-node-max-entries', '1']]);
    return error.message;
  }
}

test('the unchanged scripts answer as their twin', () => {
  expect(differences).toEqual([]);
});

test('the unchanged scripts answer the same again', async () => {
  expect(await faultOf(CONTROL_SCRIPTS)).toBeUndefined();
});

test('each mutant has a unique name, and each one listed as equivalent exists', () => {
  const ids = mutants.map(({ id }) => id);
  expect(ids.filter((id, i) => ids.indexOf(id) !== i)).toEqual([]);
  expect(Object.keys(CONTROL_EQUIVALENT).filter((id) => !ids.includes(id))).toEqual([]);
});

test(
  'the lives kill every mutant that is not listed as equivalent',
  async () => {
    const survivors: string[] = [];
    const killedThoughListed: string[] = [];
    const tried = sampled(mutants, { part: SHORT_PART });
    for (const { id, name, part, text } of tried) {
      const isListed = id in CONTROL_EQUIVALENT;
      const script = withMain(loadClockedScript(`control-${name}`), { part, text });
      const scripts = { ...CONTROL_SCRIPTS, [name]: script };
      const first = await faultOf(scripts);
      // A busy machine may disturb one life: what is listed is lived again.
      const fault = first !== undefined && isListed ? await faultOf(scripts) : first;
      if (fault === undefined && !isListed) survivors.push(id);
      if (fault !== undefined && isListed) killedThoughListed.push(`${id}: ${fault}`);
    }
    figure(`${tried.length} of ${mutants.length} tried: ${tried.length - survivors.length} killed or listed`);
    expect({ survivors, killedThoughListed }).toEqual({ survivors: [], killedThoughListed: [] });
  },
  TIMEOUT_MS,
);
