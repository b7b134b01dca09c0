/** The difference between two configurations as text, as JSON, and as Markdown for a merge request. */

import type { Change, ConfigurationDiff, Direction, RuleDiff } from '../../../configuration/diff/change';

/** Forges refuse longer comments; GitHub's bound is 65,536 characters. */
const MARKDOWN_CHARS_MAX = 60_000;

/** Longer texts of a configuration are cut in tables. */
const CELL_CHARS_MAX = 200;

const SUMMARIES: Readonly<Record<Direction, string>> = {
  none: 'The same requests are admitted.',
  looser: 'Only looser: requests that were denied may be admitted.',
  stricter: 'Stricter: requests that were admitted may be denied.',
  both: 'Looser and stricter: some requests may be admitted that were denied, and others denied that were admitted.',
};

const WORDS: Readonly<Record<Direction, string>> = {
  none: 'no decision changes',
  looser: 'looser',
  stricter: 'stricter',
  both: 'looser or stricter',
};

/** Each ends with a newline. */
export const DIFF_FORMATS: Readonly<Record<'text' | 'json' | 'markdown', (diff: ConfigurationDiff) => string>> = {
  text: formatText,
  json: (diff) => `${JSON.stringify(diff, null, 2)}\n`,
  markdown: formatMarkdown,
};

function formatText({ direction, rules, unreachable }: ConfigurationDiff): string {
  const lines = rules.flatMap((rule) => [
    `${placeOf(rule)}: ${rule.status}, ${WORDS[rule.direction]}`,
    ...rule.changes.map((change) => `  ${change.what}: ${valuesOf(change)}${notesOf(change)}`),
  ]);
  // Names and values of a configuration may have control characters, and each change is one line.
  const shown = [...lines, ...unreachable.map((each) => `never matched: ${each}`)].map((line) => line.replace(/\p{Cc}/gu, '?'));
  return `${[...shown, SUMMARIES[direction]].join('\n')}\n`;
}

function placeOf({ domain, rule }: RuleDiff): string {
  if (rule === '') return domain;
  return rule.startsWith('plan ') ? `${domain}: ${rule}` : rule;
}

function valuesOf({ from, to }: Change): string {
  if (from === undefined) return `${to ?? ''} (new)`;
  return to === undefined ? `${from} (gone)` : `${from} → ${to}`;
}

function notesOf({ direction, startsEmpty }: Change): string {
  return `${direction === 'none' ? '' : ` [${WORDS[direction]}]`}${startsEmpty ? ' [buckets start empty]' : ''}`;
}

function formatMarkdown({ direction, rules, unreachable }: ConfigurationDiff): string {
  const head = ['### Rate limits: changes', '', `**${SUMMARIES[direction]}**`, ''];
  const rows = rules.flatMap((rule) =>
    rule.changes.map(
      (change) =>
        `| ${cell(placeOf(rule))} | ${rule.status} | ${cell(change.what)} | ${cell(change.from ?? '')} | ${cell(change.to ?? '')} | ${WORDS[change.direction]} | ${change.startsEmpty ? 'start empty' : 'stay'} |`,
    ),
  );
  const notes = unreachable.map((each) => `- never matched: ${cell(each)}`);
  const table = rows.length === 0 ? [] : ['| rule | status | field | old | new | effect | buckets |', '|---|---|---|---|---|---|---|'];
  const lines = [...head, ...table];
  let chars = lines.join('\n').length;
  const all = [...rows, ...(notes.length === 0 ? [] : ['', ...notes])];
  for (const [index, line] of all.entries()) {
    chars += line.length + 1;
    if (chars > MARKDOWN_CHARS_MAX) {
      lines.push('', `And ${all.length - index} more lines; \`weir diff\` shows all of them.`);
      break;
    }
    lines.push(line);
  }
  return `${lines.join('\n')}\n`;
}

/** Escapes each character that Markdown or HTML could read as anything but text. */
function cell(whole: string): string {
  const cut = whole.length > CELL_CHARS_MAX ? `${whole.slice(0, CELL_CHARS_MAX)}…` : whole;
  const text = cut
    .replace(/\p{Cc}/gu, ' ')
    .replace(/[\\`*_{}[\]()+\-.!|~:]/g, '\\$&')
    .replace(/[&<>#]/g, (char) => `&#${char.charCodeAt(0)};`);
  // In code nobody is mentioned, and nothing becomes a link.
  return text === '' ? '' : `<code>${text}</code>`;
}
