/** The docs for language models (llmstxt.org): llms.txt lists the pages by reader, llms-full.txt has all of their texts. */
import { groupsOfReaders } from './navigation.mjs';
import { pagesOfDocs, textOf, titleOf } from './pages.mjs';

/**
 * @param {{ base: string, description: string }} site
 */
export function llmsTxt({ base, description }) {
  const sections = groupsOfReaders().map(({ title, pages }) =>
    [`## ${title}`, '', ...pages.map((page) => `- [${titleOf(page)}](${base}${page})`)].join('\n'),
  );
  return `${['# Weir', `> ${description}`, ...sections].join('\n\n')}\n`;
}

/** Each page below its path. */
export function llmsFullTxt() {
  return pagesOfDocs()
    .map((page) => `<!-- docs/${page} -->\n\n${textOf(page).trim()}\n`)
    .join('\n');
}
