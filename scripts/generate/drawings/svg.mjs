/** Boxes, texts and arrows of the drawings: SVG that is legible in light and dark. */

/** The greatest width of a character, in parts of the size of the font: texts have to fit in the fonts of all readers. */
const CHARACTER = { sans: 0.58, mono: 0.615 };
const SIZES = { title: 18, head: 14, body: 13, small: 12 };

const STYLE = `
  svg { --page: #ffffff; --box: #f6f8fa; --line: #c4ccd4; --text: #1f2328; --dim: #59636e; --accent: #0969da; --ok: #1a7f37; --deny: #cf222e; --away: #9a6700; --on: #ffffff }
  @media (prefers-color-scheme: dark) {
    svg { --page: #0d1117; --box: #161b22; --line: #3d444d; --text: #f0f6fc; --dim: #9198a1; --accent: #4493f8; --ok: #3fb950; --deny: #f85149; --away: #d29922; --on: #0d1117 }
  }
  text { font-family: system-ui, -apple-system, 'Segoe UI', Helvetica, Arial, sans-serif; fill: var(--text) }
  .mono { font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace }
  .title { font-size: ${SIZES.title}px; font-weight: 600 } .head { font-size: ${SIZES.head}px; font-weight: 600 }
  .body { font-size: ${SIZES.body}px } .small { font-size: ${SIZES.small}px }
  text.dim { fill: var(--dim) } text.accent { fill: var(--accent) } text.ok { fill: var(--ok) } text.deny { fill: var(--deny) } text.away { fill: var(--away) } text.on { fill: var(--on) }
  .page { fill: var(--page) } .box { fill: var(--box); stroke: var(--line) } .mark { fill: none; stroke: var(--accent) }
  .track { fill: var(--page); stroke: var(--line) } .rule { stroke: var(--line) } .arrow { stroke: var(--dim); fill: none } .tip { fill: var(--dim) }
  .fill-accent { fill: var(--accent) } .fill-ok { fill: var(--ok) } .fill-deny { fill: var(--deny) } .fill-away { fill: var(--away) }
  .edge-deny { fill: none; stroke: var(--deny); stroke-width: 1.5 } .edge-away { fill: none; stroke: var(--away); stroke-width: 1.5; stroke-dasharray: 3 2 }
`;

/** @typedef {'accent' | 'ok' | 'deny' | 'away'} Tone */

/**
 * @typedef {object} TextOptions
 * @property {number} x
 * @property {number} y The line on which it stands.
 * @property {keyof typeof SIZES} [size]
 * @property {Tone | 'dim' | 'on'} [tone]
 * @property {boolean} [isMono]
 * @property {'start' | 'middle' | 'end'} [anchor]
 * @property {number} width What there is room for; a wider text is an error, because it would run into something.
 */

/**
 * @param {string} content
 * @param {TextOptions} options
 */
export function text(content, { x, y, size = 'body', tone, isMono = false, anchor = 'start', width }) {
  const needed = content.length * SIZES[size] * (isMono ? CHARACTER.mono : CHARACTER.sans);
  if (needed > width) throw new Error(`"${content}" needs ${Math.ceil(needed)} px and has ${width}; give it more room in the drawing`);
  const classes = [size, ...(isMono ? ['mono'] : []), ...(tone === undefined ? [] : [tone])].join(' ');
  const end = anchor === 'start' ? '' : ` text-anchor="${anchor}"`;
  return `<text class="${classes}" x="${x}" y="${y}"${end}>${escaped(content)}</text>`;
}

/** @param {{ x: number, y: number, width: number, height: number, look?: string, radius?: number }} options */
export function rectangle({ x, y, width, height, look = 'box', radius = 6 }) {
  return `<rect class="${look}" x="${x}" y="${y}" width="${width}" height="${height}" rx="${radius}"/>`;
}

/**
 * A word on a ground of its colour.
 *
 * @param {string} content
 * @param {{ x: number, y: number, width: number, tone: Tone }} options
 */
export function badge(content, { x, y, width, tone }) {
  const middle = x + width / 2;
  return (
    rectangle({ x, y, width, height: 22, look: `fill-${tone}`, radius: 11 }) +
    text(content, { x: middle, y: y + 15.5, size: 'small', tone: 'on', isMono: true, anchor: 'middle', width: width - 8 })
  );
}

/** @param {{ x: number, from: number, to: number }} options */
export function arrowDown({ x, from, to }) {
  return `<path class="arrow" d="M${x} ${from}V${to - 5}"/><path class="tip" d="M${x - 4} ${to - 7}h8l-4 7z"/>`;
}

/** @param {{ x: number, y: number, width: number }} options */
export function ruler({ x, y, width }) {
  return `<path class="rule" d="M${x} ${y}h${width}"/>`;
}

/**
 * What is left of a limit, as a bar.
 *
 * @param {{ x: number, y: number, width: number, part: number }} options `part` is between 0 and 1.
 */
export function bar({ x, y, width, part }) {
  const filled = Math.round(width * part);
  const track = rectangle({ x, y, width, height: 8, look: 'track', radius: 4 });
  return filled === 0 ? track : track + rectangle({ x, y, width: filled, height: 8, look: 'fill-accent', radius: 4 });
}

/**
 * The whole drawing. Readers who do not see it get the title and the description.
 *
 * @param {{ name: string, title: string, description: string, width: number, height: number, parts: readonly string[] }} options
 */
export function drawing({ name, title, description, width, height, parts }) {
  return `${[
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-labelledby="${name}-title ${name}-desc">`,
    '<!-- written by `node scripts/generate/drawings.mjs` from a Weir that runs -->',
    `<title id="${name}-title">${escaped(title)}</title>`,
    `<desc id="${name}-desc">${escaped(description)}</desc>`,
    `<style>${STYLE}</style>`,
    rectangle({ x: 0, y: 0, width, height, look: 'page', radius: 8 }),
    text(title, { x: 20, y: 34, size: 'title', width: width - 40 }),
    ...parts,
    '</svg>',
  ].join('\n')}\n`;
}

/**
 * A sentence of a drawing that the run has to bear out.
 *
 * @param {string} sentence
 * @param {boolean} isTrue
 */
export function claim(sentence, isTrue) {
  if (!isTrue)
    throw new Error(`the run does not show what the drawing says: "${sentence}"; look at what Weir answered, or correct the sentence`);
  return sentence;
}

/** @param {string} content */
function escaped(content) {
  return content.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
}
