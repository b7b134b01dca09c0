/**
 * Whether the table of maintainers in CONTRIBUTING.md and .github/CODEOWNERS name people, and the same ones:
 * `node scripts/release/people.mjs`. `--write` writes CODEOWNERS from the table.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { ROOT, exitWith } from '../process/repository.mjs';

const PEOPLE = 'CONTRIBUTING.md';
const OWNERS = join('.github', 'CODEOWNERS');

const HEAD = '| name | handle | contact | looks after |';
const HANDLE = /^@[\w-]+(?:\/[\w-]+)?$/;
const CONTACT = /^(?:[^\s@]+@[^\s@]+\.[^\s@]+|https:\/\/\S+)$/;

/** The rows of the table of maintainers, as their cells. */
function maintainers() {
  const [, table = ''] = readFileSync(join(ROOT, PEOPLE), 'utf8').split(`${HEAD}\n`);
  const rows = /^(?:\|.*\n)*/.exec(table)?.[0].split('\n').slice(1, -1) ?? [];
  return rows.map((row) =>
    row
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );
}

/** @param {readonly (readonly string[])[]} people */
function ownersFile(people) {
  return `# Who reviews changes, written from CONTRIBUTING.md by \`node scripts/release/people.mjs --write\`.\n* ${people.map(([, handle]) => handle).join(' ')}\n`;
}

/**
 * @param {readonly string[]} row
 * @returns {readonly string[]}
 */
function rowFaults([name = '', handle = '', contact = '', area = '']) {
  return [
    ...(name === '' || area === '' ? [`A row of ${PEOPLE} has an empty cell; fill it in.`] : []),
    ...(HANDLE.test(handle) ? [] : [`The handle of ${name} in ${PEOPLE} is ${handle || 'empty'}; write it like @name or @org/team.`]),
    ...(CONTACT.test(contact) ? [] : [`The contact of ${name} in ${PEOPLE} is ${contact || 'empty'}; write an address or a URL.`]),
  ];
}

const { values } = parseArgs({ options: { write: { type: 'boolean' } } });
const people = maintainers();
const faults = people.length === 0 ? [`${PEOPLE} names nobody; write a row for each maintainer.`] : people.flatMap(rowFaults);
if (faults.length > 0) exitWith(faults.join('\n'));
const path = join(ROOT, OWNERS);
if (values.write === true) writeFileSync(path, ownersFile(people));
const written = existsSync(path) ? readFileSync(path, 'utf8') : '';
if (written !== ownersFile(people)) exitWith(`${OWNERS} does not name the maintainers; run node scripts/release/people.mjs --write.`);
console.log(`${people.length === 1 ? 'One maintainer reviews' : `${people.length} maintainers review`} changes.`);
