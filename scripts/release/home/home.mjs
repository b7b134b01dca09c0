/** The home of the project: scripts/release/home.json says where repository, image, charts and packages are, and whom to ask. Other files take it from there. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseJson } from '../../process/parse-json.mjs';
import { ROOT } from '../../process/repository.mjs';

export const HOME_FILE = 'scripts/release/home.json';

/** @typedef {keyof typeof FIELDS} Field */
/** @typedef {Record<Field, string>} Home An empty text: the owner has not chosen it yet. */

const URL_LIKE = { form: /^https:\/\/[^\s"'<>]+[^\s"'<>/]$/, like: 'https://forge.example/org/weir, without a slash at the end' };
/** A registry with its port, then folders: it ends in no tag and no digest. */
const REFERENCE = { form: /^[a-z\d.-]+(?::\d+)?(?:\/[a-z\d._-]+)+$/, like: 'registry.example/org/weir' };

/**
 * What each field may be, and whether a release needs it.
 *
 * @type {{ [name in 'repository' | 'homepage' | 'security' | 'runbook' | 'icon' | 'maintainer' | 'email' | 'image' | 'charts' | 'chartsId' | 'npmRegistry' | 'npmScope']:
 *   { readonly form: RegExp, readonly like: string, readonly isNeeded: boolean, readonly help: string } }}
 */
export const FIELDS = {
  repository: { ...URL_LIKE, isNeeded: true, help: 'the repository, as a browser shows it' },
  homepage: { ...URL_LIKE, isNeeded: false, help: 'the site; default: the repository' },
  security: {
    form: /^(?:https:\/\/\S+|[^\s@]+@[^\s@]+)$/,
    like: 'security@org.example, or a URL',
    isNeeded: true,
    help: 'where vulnerabilities are reported in private',
  },
  runbook: { ...URL_LIKE, isNeeded: false, help: 'where docs/runbook.md is published; default: its page in the repository' },
  icon: { ...URL_LIKE, isNeeded: false, help: 'an image for the listing of the chart' },
  maintainer: { form: /^[^"\n:#]+$/, like: 'The Weir maintainers', isNeeded: true, help: 'who maintains the chart' },
  email: { form: /^[^\s@"]+@[^\s@"]+$/, like: 'weir@org.example', isNeeded: true, help: 'how to reach the maintainer' },
  image: { ...REFERENCE, isNeeded: true, help: 'the name of the image, with its registry' },
  charts: { ...REFERENCE, like: 'registry.example/org/charts', isNeeded: true, help: 'the folder of the chart in that registry' },
  chartsId: { form: /^[\da-f-]{36}$/, like: 'a UUID', isNeeded: false, help: 'the repository ID that Artifact Hub gave' },
  npmRegistry: { form: /^https?:\/\/[^\s"'<>]+$/, like: 'https://registry.example', isNeeded: true, help: 'the registry of the packages' },
  npmScope: { form: /^@[a-z\d][a-z\d._-]*$/, like: '@org', isNeeded: true, help: 'the scope of the packages' },
};

/**
 * @param {string} [root]
 * @returns {Home}
 */
export function readHome(root = ROOT) {
  return /** @type {Home} */ (parseJson(readFileSync(join(root, HOME_FILE), 'utf8')));
}

/**
 * Fields whose text is not what it should be, as sentences. An empty text is none.
 *
 * @param {Readonly<Record<string, string>>} home
 */
export function malformed(home) {
  return Object.entries(home).flatMap(([name, text]) => {
    if (!isField(name)) return [`${HOME_FILE} has the unknown field ${name}; use one of ${Object.keys(FIELDS).join(', ')}.`];
    const { form, like } = FIELDS[name];
    return text === '' || form.test(text) ? [] : [`${name} in ${HOME_FILE} is ${text}; write it like ${like}.`];
  });
}

/**
 * What a release needs and nobody has chosen, as sentences.
 *
 * @param {Home} home
 */
export function unchosen(home) {
  const names = Object.entries(FIELDS).flatMap(([name, { isNeeded }]) => (isNeeded && isField(name) && home[name] === '' ? [name] : []));
  return names.map((name) => `${name} in ${HOME_FILE} is empty; set it with node scripts/release/set-home.mjs --${optionOf(name)} VALUE.`);
}

/** @param {Home} home */
export function homepageOf({ homepage, repository }) {
  return homepage === '' ? repository : homepage;
}

/** @param {Home} home */
export function runbookOf({ runbook, repository }) {
  if (runbook !== '') return runbook;
  return repository === '' ? 'docs/runbook.md' : `${repository}/blob/main/docs/runbook.md`;
}

/** @param {string} field */
export function optionOf(field) {
  return field.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}

/**
 * @param {string} name
 * @returns {name is Field}
 */
function isField(name) {
  return Object.hasOwn(FIELDS, name);
}
