/** Published configurations without one of the lines that protect them: the generator has to find the way around each. */
import { isLong } from '../../support/random/form';
import type { Example } from '../examples/example-gateway';
import { nameOf, SITES, SUBJECTS, type Subject } from './subjects';

export interface Weakened {
  /** The line that is missing. */
  readonly without: string;
  readonly example: Example;
  readonly subject: Subject;
  /** A part of what the generator says, once it has found it. */
  readonly says: RegExp;
}

interface Weakness extends Pick<Weakened, 'without' | 'says'> {
  readonly limit: string;
  /** It takes a thousand requests to find it, for which only the long form has the time. */
  readonly isRare?: true;
  readonly replacements: Readonly<Record<string, string>>;
}

const WEAKNESSES: readonly Weakness[] = [
  {
    without: 'normal paths',
    limit: 'readme, by path and address',
    replacements: {
      'normalize_path: true': 'normalize_path: false',
      'merge_slashes: true': 'merge_slashes: false',
      'path_with_escaped_slashes_action: UNESCAPE_AND_REDIRECT': 'path_with_escaped_slashes_action: KEEP_UNCHANGED',
    },
    says: /counted under a limit of 60 in place of 1/,
  },
  {
    without: 'the removal of Accept-Encoding',
    limit: 'llm-tokens, by tokens of a user',
    replacements: { '- remove: accept-encoding': '- remove: x-other' },
    says: /charged 0 of \d+ hits, by .*accepted encoding/,
  },
  {
    without: 'a count of callers that hang up',
    limit: 'failed-logins, by failed logins of an address',
    replacements: { 'has(response.code) && response.code >= 200 && response.code != 401 ? 0 : 1': 'response.code == 401 ? 1 : 0' },
    says: /charged 0 of \d+ hits, by .*(hangs up|odd length)/,
  },
  {
    without: 'the removal of a header that says who a caller is',
    limit: 'payments, by path and client',
    replacements: { '- remove: x-client': '- remove: x-other', OVERWRITE_IF_EXISTS_OR_ADD: 'ADD_IF_ABSENT' },
    says: /header that the configuration uses/,
  },
  {
    without: 'the address of the connection',
    limit: 'addresses, by remote_address',
    replacements: { 'use_remote_address: true': 'use_remote_address: false' },
    says: /0 were counted for this caller, by .*(header of proxies|invented address)/,
  },
  {
    without: 'a limit for requests without the header',
    limit: 'headers, by request_headers, for a known app',
    replacements: {
      'generic_key: {descriptor_key: limit, descriptor_value: caller}': 'request_headers: {header_name: x-app, descriptor_key: limit}',
      ', skip_if_absent: true': '',
    },
    says: /0 were counted/,
  },
  {
    without: 'an expression for every length',
    limit: 'expressions, by an expression over the length',
    isRare: true,
    replacements: { "request.headers['content-length'].matches('^0*[0-9]{1,4}$')": "int(request.headers['content-length']) < 10000" },
    says: /by .*(odd|length)/,
  },
  {
    without: 'the refusal of a second token in a header',
    limit: 'tokens, by jwt_claim',
    replacements: { "'(Bearer [^,\\s]+)?'": "'.*'" },
    says: /0 were counted for this caller, by .*(header|address)/,
  },
];

export const WEAKENED: readonly Weakened[] = WEAKNESSES.filter(({ isRare }) => isLong || isRare !== true).map(
  ({ without, limit, replacements, says }) => {
    const subject = SUBJECTS.find((each) => nameOf(each) === limit);
    const site = SITES.find(({ id }) => id === subject?.example);
    if (subject === undefined || site === undefined) throw new Error(`the table lacks the limit ${limit}`);
    return { without, subject, says, example: { ...site, replacements: { ...site.replacements, ...replacements } } };
  },
);
