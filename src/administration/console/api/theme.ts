/** Light or dark: what the system prefers, or what somebody chose here. */

import { computed, effect, signal } from '@preact/signals';

export const THEMES = ['system', 'light', 'dark'] as const;

export type Theme = (typeof THEMES)[number];

const KEY = 'weir-theme';

export const theme = signal<Theme>(readTheme());

const system = matchMedia('(prefers-color-scheme: dark)');

const isSystemDark = signal(system.matches);

system.addEventListener('change', ({ matches }) => {
  isSystemDark.value = matches;
});

/** The colours in use. */
export const colours = computed(() => (theme.value === 'system' ? (isSystemDark.value ? 'dark' : 'light') : theme.value));

export function chooseTheme(chosen: Theme): void {
  theme.value = chosen;
  try {
    localStorage.setItem(KEY, chosen);
  } catch {
    // Without storage the choice lasts as long as the page.
  }
}

/** The stylesheet knows only light and dark. */
export function applyTheme(): void {
  effect(() => {
    document.documentElement.dataset.theme = colours.value;
  });
}

function readTheme(): Theme {
  try {
    const stored = localStorage.getItem(KEY);
    return THEMES.find((each) => each === stored) ?? 'system';
  } catch {
    return 'system';
  }
}
