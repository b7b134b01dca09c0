/** What a tarball of npm may hold, and what it must hold. */

/** Each file is one of these. */
const ALLOWED = [
  /^package\.json$/,
  /^(?:LICENSE|NOTICE|README\.md)$/,
  /^dist\/(?!packages\/)[\w./-]+\.(?:js|js\.map|d\.ts|json)$/,
  // The console, also compressed.
  /^dist\/administration\/console\/[\w./-]+\.(?:html|js|css|svg)(?:\.map)?(?:\.br|\.gz)?$/,
  /^lua\/[\w./-]+\.(?:lua|md)$/,
  /^proto\/[\w./-]+\.(?:proto|json)$/,
];

/** Never, whatever else allows it. */
const FORBIDDEN = /(?:^|\/)(?:\.|node_modules\/)|\.(?:test\.js|pem|key|env)$/;

/** @typedef {{ readonly bin?: Readonly<Record<string, string>>, readonly exports?: Readonly<Record<string, string | Readonly<Record<string, string>>>> }} Entries */

/**
 * What is wrong with the files of a tarball, as sentences.
 *
 * @param {string} name
 * @param {readonly string[]} files Below its folder `package`.
 * @param {Entries} manifest
 */
export function contentFaults(name, files, { bin = {}, exports = {} }) {
  const entries = [bin, exports].flatMap((places) =>
    Object.values(places).flatMap((place) => (typeof place === 'string' ? [place] : Object.values(place))),
  );
  const wanted = ['package.json', 'LICENSE', 'README.md', ...entries.map((place) => place.replace(/^\.\//, ''))];
  const extra = files.filter((file) => FORBIDDEN.test(file) || !ALLOWED.some((form) => form.test(file)));
  const missing = wanted.filter((file) => !files.includes(file));
  return [
    ...extra.map(
      (file) =>
        `${name} would publish ${file}; leave it out (files in package.json), or allow it in scripts/release/steps/package-contents.mjs.`,
    ),
    ...missing.map((file) => `${name} would be published without ${file}.`),
  ];
}
