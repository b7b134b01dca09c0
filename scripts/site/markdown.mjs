/** What the site changes in how Markdown is read, so that pages of docs/ stay as every forge shows them: links that leave docs/, and braces in code. */
import { linkOf, repositoryUrl } from './outside-links.mjs';

/** @typedef {{ type: string, tag: string, content: string, children: Token[] | null, attrGet(name: string): string | null, attrSet(name: string, value: string): void }} Token */
/** @typedef {{ tokens: Token[], env: { relativePath?: string } }} State */
/** @typedef {(...args: never[]) => string} Renderer */

/**
 * The part of markdown-it that is used here.
 *
 * @typedef {object} Markdown
 * @property {{ ruler: { push(name: string, rule: (state: State) => void): void } }} core
 * @property {{ rules: Record<string, Renderer | undefined> }} renderer
 */

/**
 * Files to which links of the pages lead are added to `copied`.
 *
 * @param {Markdown} md
 * @param {{ revision: string, copied: Set<string> }} options
 */
export function readAsForges(md, { revision, copied }) {
  const repository = repositoryUrl();
  md.core.ruler.push('as_forges', ({ tokens, env: { relativePath: page = '' } }) => {
    nameNoEmptyHeads(tokens);
    for (const token of tokens) {
      if (token.children !== null) token.children = withLinks(token.children, { page, repository, revision, copied });
      // Who has no mouse scrolls it by the keys.
      if (token.type === 'code_block') token.attrSet('tabindex', '0');
    }
  });
  const inline = /** @type {((...args: unknown[]) => string) | undefined} */ (md.renderer.rules.code_inline);
  if (inline === undefined) throw new Error('markdown-it renders no inline code');
  // Without `v-pre` Vue would take the braces of a template for its own.
  md.renderer.rules.code_inline = /** @param {never[]} args */ (...args) => inline(...args).replace('<code', '<code v-pre');
}

/**
 * A table whose first head is empty has a cell there: an empty head says nothing to who hears the page.
 *
 * @param {readonly Token[]} tokens
 */
function nameNoEmptyHeads(tokens) {
  for (const [i, token] of tokens.entries()) {
    const [content, close] = [tokens[i + 1], tokens[i + 2]];
    if (token.type !== 'th_open' || content?.content !== '' || close === undefined) continue;
    token.tag = 'td';
    close.tag = 'td';
  }
}

/**
 * @param {readonly Token[]} tokens
 * @param {{ page: string, repository: string | undefined, revision: string, copied: Set<string> }} options
 */
function withLinks(tokens, { copied, ...options }) {
  let isDropped = false;
  return tokens.filter((token) => {
    if (token.type === 'link_open') {
      const to = linkOf(token.attrGet('href') ?? '', options);
      isDropped = to.href === undefined;
      if (to.href !== undefined) token.attrSet('href', to.href);
      if (to.copied !== undefined) copied.add(to.copied);
      return !isDropped;
    }
    return !(token.type === 'link_close' && isDropped);
  });
}
