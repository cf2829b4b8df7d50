/**
 * Joins the store, the engines and the browser: runs the document, pulls the shown texts, keeps the work, opens links.
 * The panels dispatch actions and read signals; they never talk to an engine themselves.
 */
import type { Place } from "../engine/protocol";
import { firstExample } from "../examples";
import { type Address, createAddress, type Surroundings } from "./address";
import { createChecks } from "./checks";
import { createChoices } from "./choices";
import { createCourse } from "./course";
import { createFollow } from "./follow";
import { createHistory } from "./history";
import { createImporting } from "./importing";
import { createKeeping } from "./keeping";
import { createLessons } from "./lessons";
import { type Notice, toShared } from "./model";
import { createPanels, type Panels } from "./panels";
import type { Keeper } from "./persist";
import { createPlaces } from "./places";
import { createPulls } from "./pulls";
import { createQuestions } from "./questions";
import { createRewrites } from "./rewrites";
import { createRuns, type EngineRoom } from "./runs";
import { createSharing } from "./sharing";
import { createStepping } from "./stepping";
import { createStore, type Store } from "./store";
import { createTouching } from "./touching";
import { Judge } from "./trust";
import type { Works } from "./works";

export interface Environment extends Surroundings, EngineRoom {
  keeper: Keeper;
  works: Works;
  /** Puts a text on the clipboard. */
  copy(text: string): Promise<void>;
}

/** The most characters of a parent program that are kept: links would get too long. */
const LONGEST_PARENT = 20_000;

export type Controller = ReturnType<typeof createController>;

/** Runs the document, and makes all that is to be seen of its runs. `arrived` is called once a run is shown. */
function createLooking(environment: Environment, store: Store, judge: Judge, arrived: () => void) {
  const { state, dispatch } = store;
  const touching = createTouching({
    state,
    steps: () => stepping.steps(),
    holder: () => runs.holder(),
  });
  const checks = createChecks({ ...environment, state, steps: () => stepping.steps() });
  const stepping = createStepping(
    store,
    () => touching.touching()?.ids ?? null,
    () => checks.listed(),
  );
  const { steps, selected, step, shown } = stepping;
  const runs = createRuns({
    store,
    room: environment,
    judge,
    expect: (run) => pulls.expect(run),
    arrived,
    renewed: (again) => (again ? pulls.pull() : pulls.forget()),
  });
  const { holder, plain } = runs;
  const pulls = createPulls({ state, steps, shown, selected, step, holder });
  const follow = createFollow({ state, step, holder });
  const rewrites = createRewrites({ state, step, selected, holder });
  const questions = createQuestions({ state, holder, plain, spawn: environment.spawn });

  /** Takes the user's decision about the script of a link. */
  function decideScript(trust: "own" | "held"): void {
    void judge.decide(state().document.script, trust);
    dispatch({ type: "trust", trust });
    if (trust === "own") runs.now();
  }

  return { touching, checks, stepping, runs, pulls, follow, rewrites, questions, decideScript };
}

type Looking = ReturnType<typeof createLooking>;
type Opening = ReturnType<typeof createOpening>;

/** Opens, keeps and shares documents. */
function createOpening(
  environment: Environment,
  store: Store,
  judge: Judge,
  address: Address,
  panels: Panels,
  { stepping: { step }, runs: { holder, plain }, questions }: Looking,
) {
  const { keeper, works } = environment;
  const { state, dispatch } = store;
  const keeping = createKeeping({ store, works, judge, address });
  const places = createPlaces({
    ...environment,
    draft: keeping.draft,
    putAside: () => keeping.copy("Something else was opened"),
    show(kept) {
      arriving = typeof kept === "string" ? keeping.goBack(kept) : keeping.restore(kept);
    },
  });
  /** Settles once the entry that the browser went back to is shown. */
  let arriving: Promise<void> | undefined;
  const leave = (to: string | null = address.bare()) => keeping.started() && places.leave(to);
  const sharing = createSharing({
    store,
    address,
    copy: environment.copy,
    judge,
    plain,
    stepId: () => step()?.id ?? state().step,
    hash: questions.hash,
    keeping,
    leave,
  });
  const choices = createChoices({ store, copy: keeping.copy, leave });
  const lessons = createLessons(keeper);
  const say = (text: string) =>
    dispatch({ type: "notice", notice: { tone: "info", text, action: null, label: "" } });
  const course = createCourse({
    plain,
    say,
    openDocument: sharing.openDocument,
    showed: lessons.showed,
    panels,
  });
  const importing = createImporting({
    state,
    plain,
    openProgram: choices.openProgram,
    async openDocument(document, name) {
      const { lesson } = state();
      const what = `${name} is open now`;
      const offered = await sharing.openDocument(document, { what, own: true, lesson });
      if (!offered) choices.offerUndo(`${what}.`);
    },
    say,
    takeProgress: lessons.load,
  });

  /** Makes the version after the shown step the program. */
  async function fork(): Promise<void> {
    const at = step();
    if (!at) return;
    const { parent: _, ...document } = toShared(state(), at.id);
    const parent = await plain().ask({ type: "write", document });
    const reply = await holder().ask({ type: "text", version: at.after, stable: false }, "fork");
    if (reply.status !== "answered") return;
    const whole = parent.status === "answered" && parent.value.length <= LONGEST_PARENT;
    choices.fork(reply.value, at.row, at.name, whole ? parent.value : "");
  }

  return {
    keeping,
    places,
    arrived: () => arriving,
    sharing,
    choices,
    lessons,
    say,
    course,
    importing,
    fork,
  };
}

/** Tells the parts of each change. */
function listen(
  store: Store,
  keeper: Keeper,
  address: Address,
  { touching, runs, pulls, follow, rewrites }: Looking,
  { keeping, choices }: Opening,
): void {
  store.onChange((after, before) => {
    if (after.document !== before.document) {
      address.edited();
      choices.overtake();
      if (keeping.started()) runs.edited(before.document);
    }
    // Until then the address decides which document is shown.
    if (after.lesson !== before.lesson && keeping.started()) address.lesson(after.lesson);
    const looked = after.good !== before.good || after.step !== before.step;
    if (looked || after.view !== before.view || after.answers !== before.answers) pulls.pull();
    if (after.good !== before.good) touching.again();
    if (looked) {
      follow.refresh();
      rewrites.refresh();
    }
    if (after.preferences !== before.preferences) keeper.keepPreferences(after.preferences);
    const kept = ["document", "step", "view", "trust", "example", "lesson"] as const;
    if (kept.some((name) => after[name] !== before[name])) keeping.keepSoon();
  });
}

/** Opens the page with the last visit's document, or the one in the address, and starts the engine. */
function createVisit(
  { works, location }: Environment,
  { state, dispatch }: Store,
  address: Address,
  { runs }: Looking,
  { keeping, sharing, course, arrived }: Opening,
) {
  /** Opens the lesson or link in the address, or else `otherwise`, the link of the previous document. */
  async function addressed(otherwise = ""): Promise<void> {
    await arrived();
    const lesson = course.wanted(location.hash, state().lesson);
    if (lesson) await course.open(lesson);
    else await sharing.openLink(address.wanted() || otherwise);
  }

  /** Shows the document of the last visit, then the one in the address. */
  async function open(): Promise<void> {
    const kept = await works.latest();
    if (kept?.document) {
      await keeping.restore(kept);
      keeping.offerAgain(kept);
      // The tip for a first visit has been seen.
      if (state().preferences.hint) dispatch({ type: "prefer", change: { hint: false } });
    } else {
      const { id, source, passes, optLevel } = firstExample;
      dispatch({ type: "example", id, source, passes, optLevel });
    }
    await addressed(kept?.document ? "" : (kept?.link ?? ""));
    keeping.start();
    if (state().lesson) address.lesson(state().lesson);
  }

  /** Starts the page. */
  async function start(): Promise<void> {
    await open();
    // With the catalogue, the engine says which rows need a script that may not run.
    if (state().trust === "own") runs.now();
    const reply = await runs.plain().ask({ type: "catalogue" });
    if (reply.status === "answered") dispatch({ type: "catalogue", catalogue: reply.value });
    if (state().trust !== "own") runs.now();
  }

  return { addressed, start };
}

export function createController(environment: Environment) {
  const { keeper } = environment;
  const store = createStore(keeper.preferences());
  const { state, dispatch } = store;
  const panels = createPanels();
  const history = createHistory(store);
  const judge = new Judge(keeper);
  const address = createAddress(environment);
  const looking = createLooking(environment, store, judge, () => {
    keeping.drawn(state().document);
    void sharing.checkClaim();
  });
  const { touching, stepping, runs, pulls, follow } = looking;
  const opening = createOpening(environment, store, judge, address, panels, looking);
  const { keeping, places, sharing, choices, course, importing } = opening;
  listen(store, keeper, address, looking, opening);
  const { addressed, start } = createVisit(environment, store, address, looking, opening);

  /** Performs the action of a notice's button; the page itself takes over a new version. */
  function act(notice: Notice): void {
    if (notice.action === "back") {
      void keeping.goBack();
      return;
    }
    dispatch({ type: "dismiss", notice });
    if (notice.action === "open-recovered") void sharing.openRecovered();
    else if (notice.action === "undo") history.undo();
  }

  return {
    state,
    dispatch,
    panels,
    ...stepping,
    ...pulls.seen,
    followed: follow.followed,
    missed: follow.missed,
    lineIn: follow.lineIn,
    follow: (version: number, place: Place) => void follow.follow(version, place),
    unfollow: follow.unfollow,
    rewrites: looking.rewrites,
    checks: looking.checks,
    touching: touching.touching,
    seek: touching.seek,
    ...looking.questions,
    fork: opening.fork,
    /** For engines beside the one that is shown: without a script, and with one. */
    spawn: environment.spawn,
    spawnSandbox: environment.spawnSandbox,
    share: sharing.share,
    ...sharing.links,
    /** Called when the address has another fragment. */
    addressed: () => void addressed(),
    /** Called when the browser went back or forth. */
    travelled: (entry: unknown) => places.arrived(entry),
    say: opening.say,
    lessons: opening.lessons,
    openLesson: course.open,
    openFirstLesson: course.openFirst,
    openOwn: course.openFile,
    lessonBegun: course.begun,
    /** Copies of earlier work, and the way to them. */
    works: () => environment.works.list(state().document),
    openWork: (id: string) => keeping.goBack(id),
    /** Opens the program that this one was forked from. */
    toParent: () => void importing.importText(state().document.parent ?? "", "The parent"),
    importText: importing.importText,
    openSteps: importing.openSteps,
    importFiles: importing.importFiles,
    openExample: choices.openExample,
    openSample: choices.openSample,
    ...choices.list,
    undo: history.undo,
    redo: history.redo,
    undoDepth: history.depth,
    decideScript: looking.decideScript,
    act,
    again: runs.again,
    keep: keeping.keep,
    start,
    stop: runs.stop,
  };
}
