/** The drawing of an outage of Redis: what each failure mode answers before, during and after it. */
import { setTimeout as pause } from 'node:timers/promises';
import { withProduct } from './product.mjs';
import { badge, claim, drawing, rectangle, ruler, text } from './svg.mjs';

const DOMAIN = 'shop';
/** The limits of outage.yaml, by failure mode. */
const PATHS = { local: '/search', open: '/news', closed: '/payout', unavailable: '/partner' };
const BEFORE = 2;
const DURING = 12;
const AFTER = 1;
const TURNS_MAX = 400;
const TURN_MS = 25;

const FALLBACK_HITS = 'weir_fallback_hits_total';
const CHARGED_BACK = 'weir_charged_back_hits_total';

const WIDTH = 880;
const LABEL_WIDTH = 210;
const PHASES = [
  { x: 236, width: 140, title: 'Redis answers' },
  { x: 388, width: 286, title: 'Redis is killed' },
  { x: 686, width: 174, title: 'Redis is back' },
];
const ROW = { y: 106, height: 76 };
const CELL = { size: 16, step: 22 };

/** @typedef {import('./product.mjs').Answer} Answer */
/** @typedef {import('./product.mjs').Product} Product */
/** @typedef {{ readonly health: readonly string[], readonly fallbackHits: number, readonly chargedBack: number }} State */
/** @typedef {{ readonly answers: ReadonlyMap<string, readonly Answer[]>, readonly state: State }} Phase */

/** @param {string} config */
export async function drawFallback(config) {
  // Redis keeps its data, as one with a disk does, so the last phase shows the hits of the first.
  const redis = { config: ['--appendonly', 'yes', '--appendfsync', 'always'] };
  return render(await withProduct({ config, domain: DOMAIN, redis }, outage));
}

/**
 * @param {Product} product
 * @returns {Promise<readonly Phase[]>}
 */
async function outage(product) {
  const before = await phase(product, BEFORE);
  product.redis.kill('SIGKILL');
  // Weir may not charge a call again that was under way when its connection was lost.
  await until('/healthcheck reports the outage', async () => (await product.health()).includes('degraded: redis'));
  const during = await phase(product, DURING);
  await product.redis.restart();
  const owed = passed(during, 'local');
  await until('Redis is charged for what passed', async () => (await product.metric(CHARGED_BACK)) >= owed);
  await until('/healthcheck is OK again', async () => (await product.health()) === 'OK');
  return [before, during, await phase(product, AFTER)];
}

/**
 * @param {Product} product
 * @param {number} count How many requests ask for each path.
 * @returns {Promise<Phase>}
 */
async function phase({ ask, health, metric }, count) {
  /** @type {Map<string, Answer[]>} */
  const answers = new Map();
  for (const [mode, path] of Object.entries(PATHS)) {
    /** @type {Answer[]} */
    const received = [];
    for (let i = 0; i < count; i += 1) received.push(await ask([{ entries: { path } }]));
    answers.set(mode, received);
  }
  const state = {
    health: (await health()).split('\n'),
    fallbackHits: await metric(FALLBACK_HITS),
    chargedBack: await metric(CHARGED_BACK),
  };
  return { answers, state };
}

/**
 * @param {string} what
 * @param {() => Promise<boolean>} isSo
 */
async function until(what, isSo) {
  for (let turn = 0; turn < TURNS_MAX; turn += 1) {
    if (await isSo()) return;
    await pause(TURN_MS);
  }
  throw new Error(`not within ${TURNS_MAX} turns: ${what}`);
}

/**
 * @param {Phase} phase
 * @param {string} mode
 */
function passed({ answers }, mode) {
  return (answers.get(mode) ?? []).filter(({ code }) => code === 'OK').length;
}

/** @param {readonly Phase[]} phases */
function render(phases) {
  const [before, during, after] = phases;
  if (before === undefined || during === undefined || after === undefined) throw new Error('an outage has three phases');
  const limit = before.answers.get('local')?.[0]?.statuses[0]?.limit ?? 0;
  const total = phases.reduce((sum, each) => sum + passed(each, 'local'), 0);
  const left = after.answers.get('local')?.at(-1)?.statuses[0]?.remaining;
  const caption = claim(
    `local: ${phases.map((each) => passed(each, 'local')).join(' + ')} passed of ${limit}. Nothing is lost and nothing counts twice: ${left} left.`,
    limit - total === left,
  );
  const open = claim(
    `open: ${passed(during, 'open')} more passed, which Redis never counts.`,
    after.state.fallbackHits - after.state.chargedBack === passed(during, 'open'),
  );
  const parts = [
    text(`Four limits of ${limit} per hour, one for each failure_mode. Each square is an answer that was received.`, {
      x: 20,
      y: 58,
      tone: 'dim',
      width: WIDTH - 40,
    }),
    ...PHASES.map(({ x, width, title }, i) => text(title, { x: x + 12, y: 94, size: 'head', width, ...(i === 1 && { tone: 'deny' }) })),
  ];
  const modes = Object.entries(PATHS);
  const foot = ROW.y + modes.length * ROW.height;
  parts.unshift(rectangle({ x: PHASES[1]?.x ?? 0, y: 72, width: PHASES[1]?.width ?? 0, height: foot - 72 + 124 }));
  for (const [i, [mode, path]] of modes.entries()) {
    const y = ROW.y + i * ROW.height;
    parts.push(
      ruler({ x: 20, y, width: WIDTH - 40 }),
      text(mode, { x: 20, y: y + 30, size: 'head', width: LABEL_WIDTH }),
      text(path, { x: 20, y: y + 50, size: 'small', isMono: true, tone: 'dim', width: LABEL_WIDTH }),
      ...phases.flatMap((each, j) =>
        answersOf(each.answers.get(mode) ?? [], { x: (PHASES[j]?.x ?? 0) + 12, y, width: (PHASES[j]?.width ?? 0) - 16 }),
      ),
    );
  }
  parts.push(
    ruler({ x: 20, y: foot, width: WIDTH - 40 }),
    text('/healthcheck', { x: 20, y: foot + 24, size: 'small', isMono: true, width: LABEL_WIDTH }),
    text(FALLBACK_HITS, { x: 20, y: foot + 90, size: 'small', isMono: true, width: LABEL_WIDTH }),
    text(CHARGED_BACK, { x: 20, y: foot + 110, size: 'small', isMono: true, width: LABEL_WIDTH }),
    ...phases.flatMap(({ state }, j) => stateOf(state, { x: (PHASES[j]?.x ?? 0) + 12, y: foot, width: (PHASES[j]?.width ?? 0) - 16 })),
    text(caption, { x: 20, y: foot + 152, width: WIDTH - 40 }),
    text(open, { x: 20, y: foot + 174, width: WIDTH - 40 }),
  );
  return drawing({
    name: 'fallback',
    title: 'Redis goes away and comes back',
    description: [
      ...phases.flatMap(({ answers, state }, j) => [
        `${PHASES[j]?.title ?? ''}: ${modes.map(([mode]) => `${mode}: ${summary(answers.get(mode) ?? [])}`).join('; ')}.`,
        `/healthcheck says ${state.health.join(', ')}; ${state.fallbackHits} hits passed without Redis, ${state.chargedBack} charged back.`,
      ]),
      caption,
      open,
    ].join(' '),
    width: WIDTH,
    height: foot + 192,
    parts,
  });
}

/** @param {readonly Answer[]} answers */
function summary(answers) {
  const codes = [...new Set(answers.map(({ code }) => code))];
  return codes.map((code) => `${answers.filter((answer) => answer.code === code).length} ${code}`).join(', ');
}

/**
 * @param {readonly Answer[]} answers
 * @param {{ x: number, y: number, width: number }} options
 */
function answersOf(answers, { x, y, width }) {
  const deciders = [...new Set(answers.map(({ decidedBy }) => decidedBy))];
  const left = answers.at(-1)?.statuses[0]?.remaining;
  const note = deciders.every((by) => by === '')
    ? left === undefined
      ? 'nothing decided'
      : `${left} left`
    : deciders.map((by) => `decided_by: ${by}`).join(', ');
  return [
    ...answers.map(({ code }, i) => square(code, { x: x + i * CELL.step, y: y + 12 })),
    text(summary(answers), { x, y: y + 46, size: 'small', isMono: true, width }),
    text(note, { x, y: y + 63, size: 'small', tone: 'dim', width }),
  ];
}

/**
 * The form shows the code as well as the colour does.
 *
 * @param {string} code
 * @param {{ x: number, y: number }} place
 */
function square(code, { x, y }) {
  const { size } = CELL;
  if (code === 'OK') return rectangle({ x, y, width: size, height: size, look: 'fill-ok', radius: 3 });
  const inner = { x: x + 0.75, y: y + 0.75, width: size - 1.5, height: size - 1.5, radius: 3 };
  if (code === 'UNAVAILABLE') return rectangle({ ...inner, look: 'edge-away' });
  return rectangle({ ...inner, look: 'edge-deny' }) + `<path class="edge-deny" d="M${x + 4.5} ${y + 4.5}l7 7m0 -7l-7 7"/>`;
}

/**
 * @param {State} state
 * @param {{ x: number, y: number, width: number }} options
 */
function stateOf({ health, fallbackHits, chargedBack }, { x, y, width }) {
  return [
    ...health.map((line, i) =>
      line === 'OK' && i === 0
        ? badge('OK', { x, y: y + 9, width: 44, tone: 'ok' })
        : text(line, { x, y: y + 30 + 18 * i, size: 'small', isMono: true, tone: 'away', width }),
    ),
    text(String(fallbackHits), { x, y: y + 90, isMono: true, width }),
    text(String(chargedBack), { x, y: y + 110, isMono: true, width }),
  ];
}
