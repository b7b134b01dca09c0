/** The drawing of a request's path: what each stage made of one request with two descriptors. */
import { basename } from 'node:path';
import { parseJson } from '../../process/parse-json.mjs';
import { runCommand, withProduct, WEIR } from './product.mjs';
import { arrowDown, badge, claim, drawing, rectangle, text } from './svg.mjs';

const DOMAIN = 'payments';
const ASKED = [{ entries: { endpoint: '/charge' } }, { entries: { merchant: 'm42' } }];

const WIDTH = 860;
const LABEL = { x: 20, width: 132 };
const COLUMNS = [160, 516];
const COLUMN_WIDTH = 324;
const INSET = 14;
const SPAN = 680;

/**
 * The part of `weir explain --format json` that is drawn.
 *
 * @typedef {object} Explained
 * @property {string} rule
 * @property {string} [plan]
 * @property {readonly { winner: { file: string, line: number, key: string } }[]} levels
 * @property {readonly { requestsPerUnit: number, unit: string, bucketKey: string, capacity: number, source: { line: number } }[]} limits
 */

/** @typedef {import('./product.mjs').Answer} Answer */
/** @typedef {{ readonly explained: readonly Explained[], readonly answer: Answer, readonly commands: number }} Facts */

/**
 * @param {string} config
 * @returns {Promise<Facts>}
 */
async function observe(config) {
  const explained = await explain(config);
  return withProduct({ config, domain: DOMAIN }, async ({ ask, metric }) => {
    const before = await metric('weir_store_latency_seconds_count');
    const answer = await ask(ASKED);
    return { explained, answer, commands: (await metric('weir_store_latency_seconds_count')) - before };
  });
}

/**
 * @param {string} config
 * @returns {Promise<readonly Explained[]>}
 */
async function explain(config) {
  const descriptors = ASKED.flatMap((asked) => ['--descriptor', entriesOf(asked)]);
  const args = [WEIR, 'explain', '--config', config, '--domain', DOMAIN, ...descriptors, '--format', 'json'];
  const { exitCode, stdout, stderr } = await runCommand(process.execPath, args);
  if (exitCode !== 0) throw new Error(`weir explain ended with ${exitCode}: ${stderr}`);
  return /** @type {{ descriptors: readonly Explained[] }} */ (parseJson(stdout)).descriptors;
}

/** @param {{ readonly entries: Readonly<Record<string, string>> }} asked */
function entriesOf({ entries }) {
  return Object.entries(entries)
    .map(([key, value]) => `${key}=${value}`)
    .join(',');
}

/** @param {string} config */
export async function drawRequestPath(config) {
  const { explained, answer, commands } = await observe(config);
  const descriptors = ASKED.map((asked, i) => {
    const [why, status] = [explained[i], answer.statuses[i]];
    const [limit, level] = [why?.limits[0], why?.levels[0]];
    if (limit === undefined || level === undefined || status === undefined) throw new Error(`Weir limits nothing for ${entriesOf(asked)}`);
    return { entries: entriesOf(asked), rule: answer.rules[i] ?? '', plan: why?.plan, limit, winner: level.winner, status };
  });
  const decide = claim('1 command asks Redis about both buckets', commands === 1 && descriptors.length === 2);
  const charge = claim(
    'Both fit, so both are charged.',
    descriptors.every(({ limit, status }) => status.remaining === limit.capacity - 1),
  );

  /** @type {string[]} */
  const parts = [];
  stage(parts, { number: 1, name: 'Transport', does: 'decodes the call', y: 56, height: 74 });
  parts.push(
    rectangle({ x: COLUMNS[0] ?? 0, y: 56, width: SPAN, height: 74 }),
    text(`ShouldRateLimit over gRPC, domain ${DOMAIN}`, { x: 174, y: 79, width: SPAN - 28 }),
  );
  stage(parts, { number: 2, name: 'Match', does: 'finds the rules', y: 158, height: 96 });
  stage(parts, { number: 3, name: 'Key', does: 'names the buckets', y: 282, height: 52 });
  stage(parts, { number: 4, name: 'Decide', does: 'asks the store', y: 362, height: 102 });
  stage(parts, { number: 5, name: 'Respond', does: 'writes the answer', y: 492, height: 84 });
  parts.push(
    rectangle({ x: COLUMNS[0] ?? 0, y: 362, width: SPAN, height: 102 }),
    text(`${decide}: a script runs there, on Redis's clock`, { x: 174, y: 385, width: SPAN - 28 }),
    text(charge, { x: 174, y: 450, tone: 'dim', width: SPAN - 28 }),
    rectangle({ x: COLUMNS[0] ?? 0, y: 492, width: SPAN, height: 84 }),
    badge(answer.code, { x: 174, y: 503, width: 44, tone: 'ok' }),
    text(claim('Envoy lets the request pass.', answer.code === 'OK'), { x: 230, y: 519, width: 500 }),
  );
  for (const [i, { entries, rule, plan, limit, winner, status }] of descriptors.entries()) {
    const x = (COLUMNS[i] ?? 0) + INSET;
    const width = COLUMN_WIDTH - 2 * INSET;
    const middle = (COLUMNS[i] ?? 0) + COLUMN_WIDTH / 2;
    parts.push(
      text(entries, { x, y: 112, isMono: true, tone: 'accent', width }),
      arrowDown({ x: middle, from: 130, to: 157 }),
      rectangle({ x: COLUMNS[i] ?? 0, y: 158, width: COLUMN_WIDTH, height: 96 }),
      text(rule, { x, y: 182, isMono: true, width }),
      text(`key ${winner.key}, line ${winner.line} of ${basename(winner.file)}`, { x, y: 206, size: 'small', tone: 'dim', width }),
      text(`${limit.requestsPerUnit} per ${limit.unit}${plan === undefined ? '' : `, by the plan ${plan}`}, line ${limit.source.line}`, {
        x,
        y: 234,
        width,
      }),
      arrowDown({ x: middle, from: 254, to: 281 }),
      rectangle({ x: COLUMNS[i] ?? 0, y: 282, width: COLUMN_WIDTH, height: 52 }),
      text(limit.bucketKey, { x, y: 313, size: 'small', isMono: true, width }),
      arrowDown({ x: middle, from: 334, to: 361 }),
      text(`${limit.capacity} left, takes 1 → ${status.remaining} left`, { x, y: 418, isMono: true, width }),
      arrowDown({ x: middle, from: 464, to: 491 }),
      text(`${status.code}, limit ${status.limit}, ${status.remaining} left`, { x, y: 556, isMono: true, width }),
    );
  }
  return drawing({
    name: 'request-path',
    title: 'The path of one request',
    description: [
      `Envoy asks Weir about the descriptors ${descriptors.map(({ entries }) => entries).join(' and ')} of the domain ${DOMAIN}.`,
      ...descriptors.map(
        ({ entries, rule, limit, status }) =>
          `${entries} matches the rule ${rule} with ${limit.requestsPerUnit} per ${limit.unit}, its bucket is ${limit.bucketKey}, and ${status.remaining} are left.`,
      ),
      `${decide}. ${charge} The answer is ${answer.code}.`,
    ].join(' '),
    width: WIDTH,
    height: 596,
    parts,
  });
}

/**
 * @param {string[]} parts
 * @param {{ number: number, name: string, does: string, y: number, height: number }} options
 */
function stage(parts, { number, name, does, y, height }) {
  const middle = y + height / 2;
  parts.push(
    text(`${number} ${name}`, { x: LABEL.x, y: middle - 3, size: 'head', width: LABEL.width }),
    text(does, { x: LABEL.x, y: middle + 15, size: 'small', tone: 'dim', width: LABEL.width }),
  );
}
