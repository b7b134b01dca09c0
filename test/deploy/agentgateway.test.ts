/** The limits for agentgateway hold, although it asks for tokens with 0 hits and reports them when the response has ended. */

import { readFileSync } from 'node:fs';
import { OK, OVER_LIMIT, RlsClient } from '../support/clients/rls-client';
import { writeConfig } from '../support/config/temp-config';
import { startWeir, type WeirProcess } from '../support/processes/weir-process';
import { startRedis, type RedisServer } from '../support/redis/redis-server';

const DOMAIN = 'agentgateway';
/** Windows that do not end during a test. */
const LIMITS = writeConfig(
  readFileSync('deploy/agentgateway/limits.yaml', 'utf8')
    .replaceAll(/unit: (minute|day)/g, 'unit: year')
    .replace(/unit: hour, requests_per_unit: 100000,/, 'unit: year, requests_per_unit: 100000,')
    .replaceAll('unit: hour', 'unit: month')
    .replace(`domain: ${DOMAIN}`, `domain: ${DOMAIN}\nalgorithm: fixed_window`),
);
const USER_REQUESTS = 60;
const USER_TOKENS = 100_000;
const TIMEOUT_MS = 60_000;

let redis: RedisServer;

beforeAll(async () => {
  redis = await startRedis();
}, TIMEOUT_MS);

afterAll(() => redis.stop());

/** Its calls are those of crates/agentgateway/src/http/remoteratelimit.rs at 75b4e6ce. */
describe.each<[string, () => Readonly<Record<string, string>>]>([
  ['the embedded store', () => ({ BACKEND_TYPE: 'memory' })],
  ['Redis', () => ({ REDIS_URL: `127.0.0.1:${redis.port}`, REDIS_OP_TIMEOUT: '1s' })],
])('agentgateway on %s', (_name, env) => {
  let weir: WeirProcess;
  let client: RlsClient;

  beforeAll(async () => {
    weir = await startWeir({ config: LIMITS, env: env() });
    client = new RlsClient(weir.grpcPort);
  }, TIMEOUT_MS);

  afterAll(async () => {
    client.close();
    await weir.stop();
  });

  interface Person {
    readonly user: string;
    readonly team: string;
  }

  /** `check`: no hits of their own without a cost. */
  const checkRequest = ({ user }: Person) => client.ask(DOMAIN, [{ entries: { user } }]);

  const tokens = ({ user, team }: Person, own: number, ofTeam: number) => [
    { entries: { user_tokens: user }, hits_addend: { value: String(own) } },
    { entries: { team_tokens: team }, hits_addend: { value: String(ofTeam) } },
  ];

  /** `check_llm`. */
  const checkTokens = (person: Person) => client.ask(DOMAIN, tokens(person, 0, 0));

  /** `amend_tokens`: total tokens, and what the expression of the second descriptor makes of them. */
  const amend = (person: Person, input: number, output: number) => client.ask(DOMAIN, tokens(person, input + output, input + 4 * output));

  /** A request as agentgateway handles it: its status, and the report at the end. */
  async function request(person: Person, input: number, output: number): Promise<number> {
    if ((await checkRequest(person)).overall_code !== OK) return 429;
    if ((await checkTokens(person)).overall_code !== OK) return 429;
    await amend(person, input, output);
    return 200;
  }

  const left = async (person: Person) => (await checkTokens(person)).statuses.map(({ limit_remaining: remaining }) => remaining);

  test('a request costs one, and its tokens what the response says', async () => {
    const person = { user: 'ann', team: 'red' };
    expect(await request(person, 1_000, 500)).toBe(200);
    expect(await left(person)).toEqual([USER_TOKENS - 1_500, 1_000_000 - 3_000]);
    expect((await checkRequest(person)).statuses[0]?.limit_remaining).toBe(USER_REQUESTS - 2);
  });

  test('what runs when the tokens are used up is charged in full, and then tokens are denied but requests are still counted', async () => {
    const person = { user: 'bob', team: 'blue' };
    const checks = await Promise.all(Array.from({ length: 5 }, () => checkTokens(person)));
    expect(checks.every(({ overall_code }) => overall_code === OK)).toBe(true);
    const reports = await Promise.all(checks.map(() => amend(person, 20_000, 10_000)));
    // The report that meets a used up budget is answered OVER_LIMIT and charged all the same.
    expect(reports.some(({ overall_code }) => overall_code === OVER_LIMIT)).toBe(true);
    const { overall_code: code, statuses } = await checkTokens(person);
    expect([code, statuses[0]?.limit_remaining]).toEqual([OVER_LIMIT, 0]);
    expect(await request(person, 1, 1)).toBe(429);
    // The team is not charged for the denied request.
    expect((await left({ ...person, user: 'another' }))[1]).toBe(1_000_000 - 5 * 60_000);
  });

  test('requests at once pass exactly as often as the limit says, and the shown headers are those of the tightest limit', async () => {
    const person = { user: 'carol', team: 'red' };
    const answers = await Promise.all(Array.from({ length: USER_REQUESTS + 10 }, () => checkRequest(person)));
    expect(answers.filter(({ overall_code }) => overall_code === OK)).toHaveLength(USER_REQUESTS);
    const denied = answers.find(({ overall_code }) => overall_code === OVER_LIMIT);
    expect(denied?.statuses[0]).toMatchObject({ limit_remaining: 0, current_limit: { requests_per_unit: USER_REQUESTS } });
    expect(Number(denied?.statuses[0]?.duration_until_reset?.seconds)).toBeGreaterThan(0);
  });
});
