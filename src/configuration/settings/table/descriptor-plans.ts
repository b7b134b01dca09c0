/** The type of CHECK_DESCRIPTORS: which descriptors /check makes of a request. */

import { toByteString } from '../../../domain/descriptor/byte-string';
import { DESCRIPTORS_MAX, ENTRIES_MAX } from '../../../domain/descriptor/descriptor-bounds';
import type { DescriptorPlan, EntryPlan, EntrySource } from '../../../domain/descriptor/entry-source';
import { show } from '../../../lib/quote';
import type { SettingType } from './setting-types';

/** The value of an entry that the request has nothing for, unless `|` names another. */
const ANONYMOUS = 'anonymous';

const PLAIN_SOURCES = ['path', 'method', 'host', 'client_ip'] as const;

/** Printable, without what separates entries and descriptors. */
const KEY = /^[^\s\p{Cc}=,;|]{1,128}$/u;
const TEXT = /^[^\p{Cc},;|]{1,256}$/u;

const HEADER_NAME = /^[!#$%&'*+.^_`~0-9A-Za-z-]{1,64}$/;
const PARAMETER_NAME = /^[0-9A-Za-z_.-]{1,64}$/;

/** A parameter of /check with a meaning of its own. */
const DENY = 'deny';

const SOURCES_HELP = 'path, method, host, client_ip, header:NAME, query:NAME or text:TEXT';

/** `KEY=SOURCE,KEY=SOURCE; KEY=SOURCE|ABSENT`: descriptors end at `;`, entries at `,`. */
export function descriptorPlans(): SettingType<readonly DescriptorPlan[]> {
  return {
    accepts: `descriptors separated by ;, of entries KEY=SOURCE separated by , (SOURCE: ${SOURCES_HELP})`,
    form: { kind: 'text' },
    parse(written) {
      const texts = written.split(';').map((text) => text.trim());
      // A `;` after the last one is usual.
      if (texts.length > 1 && texts.at(-1) === '') texts.pop();
      if (texts.length > DESCRIPTORS_MAX) return { refusal: `it has ${texts.length} descriptors; at most ${DESCRIPTORS_MAX} are possible` };
      const plans: DescriptorPlan[] = [];
      for (const [index, text] of texts.entries()) {
        const plan = toPlan(text);
        if (typeof plan === 'string') return { refusal: `descriptor ${index + 1}: ${plan}` };
        plans.push(plan);
      }
      return { value: plans };
    },
  };
}

/** The plan, or what is wrong with it. */
function toPlan(written: string): DescriptorPlan | string {
  const texts = written.split(',').map((text) => text.trim());
  if (texts.length > ENTRIES_MAX) return `it has ${texts.length} entries; at most ${ENTRIES_MAX} are possible`;
  const entries: EntryPlan[] = [];
  for (const text of texts) {
    const entry = toEntry(text);
    if (typeof entry === 'string') return entry;
    entries.push(entry);
  }
  return entries;
}

function toEntry(written: string): EntryPlan | string {
  if (written === '') return 'an entry is empty; remove the extra comma or semicolon';
  const equals = written.indexOf('=');
  const key = written.slice(0, Math.max(equals, 0)).trim();
  if (!KEY.test(key)) return `${show(written)} is not KEY=SOURCE, such as client=client_ip`;
  const [sourceText = '', ...absentTexts] = written.slice(equals + 1).split('|');
  const absent = absentTexts.join('|').trim();
  const hasAbsent = absentTexts.length > 0;
  const source = toSource(sourceText.trim());
  if (typeof source === 'string') return source;
  if (hasAbsent && source.from === 'text') return `${show(written)} has a value after |, but a text is never absent; remove it`;
  if (hasAbsent && !TEXT.test(absent)) return `${show(written)} needs a value after |, of at most 256 characters without , ; and |`;
  return { key: toByteString(key), source, absent: hasAbsent ? toByteString(absent) : ANONYMOUS };
}

function toSource(written: string): EntrySource | string {
  const plain = PLAIN_SOURCES.find((source) => source === written);
  if (plain !== undefined) return { from: plain };
  const colon = written.indexOf(':');
  const [kind, rest] = [written.slice(0, Math.max(colon, 0)), written.slice(colon + 1).trim()];
  switch (kind) {
    case 'header':
      return HEADER_NAME.test(rest) ? { from: 'header', name: rest.toLowerCase() } : `${show(rest)} is not the name of a header`;
    case 'query':
      if (rest === DENY) return 'query:deny is the status of a denial; choose another name';
      return PARAMETER_NAME.test(rest) ? { from: 'query', name: rest } : `${show(rest)} is not the name of a parameter`;
    case 'text':
      return TEXT.test(rest) ? { from: 'text', text: toByteString(rest) } : 'text: needs a text of at most 256 characters';
    default:
      return `${show(written)} is not a source; use ${SOURCES_HELP}`;
  }
}
