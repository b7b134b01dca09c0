/** No random change of a request passes a published Envoy configuration without being counted for its caller. */
import { figure } from '../../support/docs/figure';
import { isLong } from '../../support/random/form';
import { seededInFull } from '../../support/random/random';
import { huntBeyond, huntUncounted, keyNames, type Found, type Hunt } from './hunt';
import { MUTATION_NAMES } from './mutations';
import { startSites, type Sites } from './sites';
import { WEAKENED } from './weakened';
import { LOST_INTENTS, publishedConfigurations, SITES, SUBJECTS, withKeys } from './subjects';

/** Changed requests of each configuration, in each of the two tests. */
const ROUNDS = isLong ? 2000 : 40;

/** Until one escapes: far more than it takes. */
const TRIES_MAX = 5000;
/** As many escapes are shown. */
const SHOWN_MAX = 5;

let sites: Sites | undefined;

async function start(examples = SITES): Promise<void> {
  const names = keyNames(ROUNDS);
  sites = await startSites(examples.map((example) => withKeys(example, names)));
}

afterEach(async () => {
  await sites?.stop();
  sites = undefined;
});

/** Fails with the smallest requests that were not counted. */
function expectNone({ escapes, sent, reached }: Found): void {
  if (escapes.length > 0) throw new Error(escapes.join('\n\n'));
  // Otherwise the changes would only test what Envoy refuses.
  expect(reached).toBeGreaterThan(sent / 20);
  figure(`${sent} requests, ${MUTATION_NAMES.length} kinds of change, ${reached} reached the backend`);
}

function huntOf(subjects: Hunt['subjects']): Hunt {
  return { sites: sites!, subjects, seed: seededInFull(ROUNDS).seed, rounds: ROUNDS, enough: SHOWN_MAX };
}

test('no changed request reaches the backend without being counted, for its caller and at least as strictly', async () => {
  await start();
  expectNone(await huntUncounted(huntOf(SUBJECTS)));
});

test('nobody whose limit is used up gets another request to the backend by changing it', async () => {
  await start();
  const found = await huntBeyond(huntOf(SUBJECTS));
  expectNone({ ...found, reached: found.sent });
});

describe('a published configuration without one of the lines that protect it', () => {
  let found: readonly Found[];

  beforeAll(async () => {
    const weakened = await startSites(WEAKENED.map(({ example }) => example));
    const { seed } = seededInFull(1);
    found = await Promise.all(
      WEAKENED.map(({ subject }) => huntUncounted({ sites: weakened, subjects: [subject], seed, rounds: TRIES_MAX, enough: 1 })),
    );
    await weakened.stop();
  });

  test.each(WEAKENED.map((weakened, index) => ({ ...weakened, index })))(
    'lets a changed request escape, and the smallest one is shown: $without',
    ({ says, index }) => {
      const { escapes, sent } = found[index]!;
      expect(escapes[0] ?? `nothing within ${sent} requests`).toMatch(says);
      figure(`found after ${sent} requests`);
    },
  );
});

test('every published Envoy configuration is attacked, and every note on one is about a limit that is there', () => {
  const attacked = new Set(SUBJECTS.map(({ example }) => example));
  const files = SITES.filter(({ id }) => attacked.has(id)).map(({ envoy }) => envoy);
  expect(publishedConfigurations().filter((file) => !files.includes(file))).toEqual(['envoy/actions/thrift/envoy.yaml']);
  expect(LOST_INTENTS).toEqual([]);
});
