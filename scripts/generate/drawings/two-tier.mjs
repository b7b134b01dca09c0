/** The drawing of a limit in two tiers: what is left in each bucket after each request, and that a denied request takes nothing. */
import { withProduct } from './product.mjs';
import { badge, bar, claim, drawing, rectangle, ruler, text } from './svg.mjs';

const DOMAIN = 'payments';
const ENDPOINT = '/charge';
/** The free plan allows three. The last request shows that another merchant has a bucket of its own. */
const MERCHANTS = ['m42', 'm42', 'm42', 'm42', 'm43'];
/** @type {readonly Readonly<Record<string, string>>[]} */
const BUCKETS = [{ endpoint: ENDPOINT }, ...[...new Set(MERCHANTS)].map((merchant) => ({ merchant }))];

const WIDTH = 860;
const ROW = { y: 112, height: 56 };
const COLUMNS = [
  { x: 120, width: 180 },
  { x: 324, width: 150 },
  { x: 498, width: 150 },
];
const ANSWER = { x: 680, width: 154 };

/** @typedef {import('./product.mjs').Answer} Answer */
/** @typedef {import('./product.mjs').Product} Product */
/** @typedef {{ readonly name: string, readonly limit: number }} Bucket */
/** @typedef {{ readonly merchant: string, readonly answer: Answer, readonly before: readonly number[], readonly after: readonly number[] }} Step */

/** @param {string} config */
export async function drawTwoTier(config) {
  const { buckets, steps } = await withProduct({ config, domain: DOMAIN }, askInOrder);
  const denied = steps.filter(({ answer }) => answer.code === 'OVER_LIMIT');
  const nothing = claim(
    'A denied request takes nothing from either bucket.',
    denied.length > 0 && denied.every(({ before, after }) => String(before) === String(after)),
  );
  const last = steps.at(-1);
  const own = claim(
    'Another merchant still passes: it has a bucket of its own, under the same ceiling.',
    last?.answer.code === 'OK' && last.after[2] === (buckets[2]?.limit ?? 0) - 1,
  );

  const parts = [
    text('A ceiling for the endpoint, and a plan for each merchant. A request passes only if both have room.', {
      x: 20,
      y: 58,
      tone: 'dim',
      width: WIDTH - 40,
    }),
    text('request', { x: 20, y: 98, size: 'small', tone: 'dim', width: 90 }),
    text('answer', { ...ANSWER, y: 98, size: 'small', tone: 'dim' }),
  ];
  for (const [i, { name, limit }] of buckets.entries()) {
    const { x, width } = COLUMNS[i] ?? { x: 0, width: 0 };
    parts.push(
      text(name, { x, y: 82, size: 'small', isMono: true, tone: 'accent', width }),
      text(`${limit} per hour`, { x, y: 99, size: 'small', tone: 'dim', width }),
    );
  }
  for (const [i, step] of steps.entries()) parts.push(...row(step, { number: i + 1, y: ROW.y + i * ROW.height, buckets }));
  const foot = ROW.y + steps.length * ROW.height;
  parts.push(
    ruler({ x: 20, y: foot, width: WIDTH - 40 }),
    text(nothing, { x: 20, y: foot + 28, width: WIDTH - 40 }),
    text(own, { x: 20, y: foot + 50, width: WIDTH - 40 }),
  );
  return drawing({
    name: 'two-tier',
    title: 'Two tiers: both buckets, or none',
    description: [
      `Requests to ${ENDPOINT}, which has ${buckets[0]?.limit ?? 0} per hour for all merchants; each merchant has ${buckets[1]?.limit ?? 0} per hour.`,
      ...steps.map(
        ({ merchant, answer, after }, i) =>
          `Request ${i + 1} of ${merchant}: ${answer.code}, then ${after.map((left, j) => `${left} left of ${buckets[j]?.name ?? ''}`).join(', ')}.`,
      ),
      nothing,
      own,
    ].join(' '),
    width: WIDTH,
    height: foot + 70,
    parts,
  });
}

/**
 * @param {Product} product
 * @returns {Promise<{ buckets: readonly Bucket[], steps: readonly Step[] }>}
 */
async function askInOrder({ ask }) {
  const checked = await check(ask);
  const buckets = BUCKETS.map((entries, i) => ({ name: Object.entries(entries).flat().join('='), limit: checked[i]?.limit ?? 0 }));
  let before = checked.map(({ remaining }) => remaining);
  /** @type {Step[]} */
  const steps = [];
  for (const merchant of MERCHANTS) {
    const answer = await ask([{ entries: { endpoint: ENDPOINT } }, { entries: { merchant } }]);
    const after = (await check(ask)).map(({ remaining }) => remaining);
    steps.push({ merchant, answer, before, after });
    before = after;
  }
  return { buckets, steps };
}

/**
 * What each bucket holds. A request of 0 hits takes nothing.
 *
 * @param {Product['ask']} ask
 */
async function check(ask) {
  const { statuses } = await ask(BUCKETS.map((entries) => ({ entries, hits_addend: { value: '0' } })));
  return statuses;
}

/**
 * @param {Step} step
 * @param {{ number: number, y: number, buckets: readonly Bucket[] }} options
 */
function row({ merchant, answer, before, after }, { number, y, buckets }) {
  const isDenied = answer.code === 'OVER_LIMIT';
  const ground = isDenied ? [rectangle({ x: 12, y, width: WIDTH - 24, height: ROW.height })] : [ruler({ x: 20, y, width: WIDTH - 40 })];
  return [
    ...ground,
    text(`${number} ${merchant}`, { x: 20, y: y + 34, size: 'head', width: 90 }),
    ...buckets.flatMap(({ name, limit }, i) => {
      const { x, width } = COLUMNS[i] ?? { x: 0, width: 0 };
      const isAsked = i === 0 || name.endsWith(`=${merchant}`);
      const [from = 0, to = 0] = [before[i], after[i]];
      if (!isAsked)
        return [text(`${to} left`, { x, y: y + 24, isMono: true, tone: 'dim', width }), bar({ x, y: y + 34, width, part: to / limit })];
      return [text(`${from} → ${to} left`, { x, y: y + 24, isMono: true, width }), bar({ x, y: y + 34, width, part: to / limit })];
    }),
    badge(answer.code, { x: ANSWER.x, y: y + 9, width: 100, tone: isDenied ? 'deny' : 'ok' }),
    ...(isDenied
      ? [text(answer.deniedBy.map((rule) => `by ${rule}`).join(', '), { ...ANSWER, y: y + 47, size: 'small', tone: 'dim' })]
      : []),
  ];
}
