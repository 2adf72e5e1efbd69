"""Word classes that control how sentences are split into occurrences."""

from __future__ import annotations


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


#: Joins two occurrences of equal rank.
COORDINATORS = frozenset(
    {"and", "or", "but", "then", "nor", "&", "plus", "yet", "+", "versus", "vs"}
)
#: Attaches a further occurrence to the one before it.
COMPANIONS = frozenset(
    {
        "with",
        "w/",
        "w",
        "without",
        "w/o",
        "c/b",
        "p/w",
        "s/p",
        "d/t",
        "2/2",
        "f/b",
        "h/o",
        "r/o",
        "incl",
        "including",
        "requiring",
        "despite",
        "needing",
        "showing",
        "revealing",
        "except",
        "versus",
        "against",
        "via",
    }
)
#: Opens a new clause.
SUBORDINATORS = frozenset(
    {
        "which",
        "who",
        "whom",
        "where",
        "whose",
        "when",
        "while",
        "because",
        "although",
        "though",
        "so",
        "if",
        "whereas",
        "once",
        "that",
        "as",
        "unless",
        "whereupon",
        "until",
        "after",
        "before",
        "since",
        "till",
    }
)
#: Opens a condition: what follows has not happened.
CONDITIONS = frozenset({"if", "unless"})
#: May attach a further occurrence; cuts only before a clinical term.
PREPOSITIONS = frozenset(
    {"for", "on", "to", "by", "from", "under", "into", "onto", "during", "in", "off", "at"}
)
#: Words between a study (left) and its finding (right).
REPORTING = frozenset(
    {
        "showed",
        "shows",
        "show",
        "showing",
        "revealed",
        "reveals",
        "demonstrated",
        "demonstrates",
        "confirmed",
        "found",
        "suggested",
        "suggesting",
        "grew",
        "returned",
        "disclosed",
        "identified",
        "concerning",
        "suggestive",
        "consistent",
        "notable",
        "significant",
        "remarkable",
        "positive",
    }
)

#: Words for an act or a change, which are an occurrence without further words.
ACTIONS = _words("""
    started begun began initiated given received added resumed restarted hung loaded bolused re-bolused rebolused ordered
    reordered written rewritten changed switched swapped replaced substituted transitioned converted stopped discontinued dc'd
    d/c'd held weaned tapered removed pulled paused cancelled canceled off out increased decreased doubled halved uptitrated
    titrated cut raised lowered reduced advanced adjusted resolved cleared improved recovered persisted worsened recurred returned
    normalized stabilized rose fell dropped sagged softened climbed spiked peaked nadir nadired settled continued repleted
    repeated admitted transferred arrived discharged taken brought moved came went left presented seen reached called underwent
    performed placed inserted drawn sent cultured grew treated consulted evaluated monitored required needed tolerated failed
    passed refused declined agreed denied denies reports reported complained noticed noted developed awoke woke vomited gagged
    coughed voided ambulated walked fell collapsed found referred scheduled follow-up f/u followup return avoid avoided pending
    infused administered dosed hooked uneventful negative positive neg pos unobtainable unknown deferred lives quit married
    divorced widowed widower retired works emigrated died deceased expired intact steady fluent reprogrammed extubated intubated
    transfused tailored shocked floated harvested complete completed finish finished kept put switching awaiting ran back rushed
    escalated desaturated calmed carried restart resume hold stop continue change changed start taper wean check repeat trend see
    call uptrending downtrending stable improving worsening new elevated low high normal up down drank eaten ate
""")

#: Acts that move a person: an occurrence even with nothing else.
MOVES = _words("""
    admitted transferred arrived discharged came went presented returned moved readmitted left reached brought
""")

#: Verbs, nouns and adjectives that carry no occurrence of their own.
EMPTY = _words("""
    be have do get make say see think feel believe seem appear show note notice know mean begin come go take give find consider
    use allow remain become patient pt he she they we it him her his its their our who which that this these those there here such
    same other others another plan course time day days hour hours week weeks month months year years morning afternoon evening
    night thing event events way case note summary status level value result results rate dose course part side end point total
    number set rest most much few several multiple small single likely first second third last next previous following own able
    more less very well also still only just even however therefore otherwise overall hospital team service history setting
    response half second both none above below etc per due secondary felt likely thought presumably possibly synthetic said unit doctor
    dr mr mrs ms name old year-old age past medical surgical
""")

#: Stripped from the left end of a span.
LEADING = _words("""
    a an the this that these those some any his her their its our my he she they we it him them there was were is are be been
    being had has have having and or but then nor so yet also which who whom where when while as because although though if with
    w/ w in on at of to for from by into onto upon during after before until since under via per incl including given despite just
    only still again further subsequently therefore however otherwise once initially finally eventually later next did do does
    would could should may might will can felt thought noted found known likely what both either having c/b p/w s/p d/t 2/2 f/b pt
    patient showed shows showing revealed revealing demonstrated demonstrating confirmed consistent notable significant remarkable
    reported about around nearly almost already thereafter thus hence plus & + versus vs against requiring needing mr ms mrs dr
    how whose whereupon until till
""")

#: Stripped from the right end of a span.
TRAILING = _words("""
   a an the this that these those some his her their its our my he she they we it there was were is are be been being had has
    have and or but then nor so yet also which who whom where when while as because although though if with w/ w in at of to for
    from by into onto upon during after before until since under via per incl including despite just only still again
    further however otherwise once did do does would could should may might will can both either c/b p/w s/p d/t 2/2 f/b about
    around nearly than showed shows revealed demonstrated already even not what
""")

#: Left in front of a span although they look like function words: they carry the meaning.
NEGATIONS = frozenset(
    {
        "no",
        "not",
        "never",
        "without",
        "w/o",
        "denies",
        "denied",
        "denying",
        "negative",
        "nor",
        "none",
        "neither",
        "cannot",
        "absent",
    }
)

#: First words of advice about events that may happen but have not.
CONDITIONAL = frozenset({"return", "call", "seek", "if", "contact", "notify", "please"})

#: Persons around the patient; alone they are no occurrence.
PEOPLE = _words("""
    son sons daughter daughters dtr wife husband spouse partner fiance fiancee mother father dad parents brother brothers sister
    sisters sibling siblings family relatives friend friends neighbor neighbour caregiver granddaughter grandson grandchildren aunt uncle
    cousin niece nephew hcp proxy md mds rn rns np pa attending attg resident intern fellow physician physicians doctors nurse nurses
    pcp surgeon surgeons provider staff md/phd do registrar consultant
""")

#: Verbs that introduce what someone says or thinks.
SPEECH = _words("""
    state say report note indicate describe explain mention believe think feel realize understand know agree suggest add claim recall
    advise ask tell
""")

#: Acts on a treatment.
TREATMENT_ACTS = _words("""
    started begun began initiated given added resumed restarted hung ordered reordered changed switched stopped discontinued dc'd d/c'd held
    weaned tapered removed pulled paused cancelled canceled off increased decreased doubled halved uptitrated titrated cut raised lowered
    reduced continued repeated infused placed replaced back discontinue hold stop restart resume finished completed
""")
#: Changes of a value: with a number and without a noun they continue the measure before them
#: ("sagged to 2.9").
TREND_ACTS = _words(
    "rose fell sagged dropped climbed spiked peaked up down increased decreased improved normalized"
    " returned came rising falling"
)
#: Changes of a finding.
COURSE_ACTS = _words("""
    resolved cleared improved recurred persisted worsened recovered settled returned stable improving normalized worsening resolving
    stabilized
""")

#: Problem headings that name a topic and no condition.
TOPICS = _words("""
    access fen ppx prophylaxis code dispo disposition contact communication comm nutrition lines neuro cv resp gi gu renal heme id
    endo msk skin transitional issues code-status goals care summary other chronic problems plan events
""")
#: Words of inline titles and labels: "Lines: none", "3) Resp. CXR clear".
TITLES = TOPICS | _words("""
    medications medication meds drips drip pending lines line labs lab imaging micro studies pain lytes electrolytes volume pump rhythm
    onc ent ortho situation background assessment presentation history course subjective objective impression findings disposition
    discharge admission diagnosis diagnoses hospital brief interval physical exam examination vitals vital signs data results problem
    problems list by system review of systems rest misc activity diet condition follow-up followup instructions psych gyn ob gu
    extremities extremity lungs heart head neck chest abdomen heent general back genitalia genitourinary rectal breasts breast eyes
    ears nose throat mouth constitutional integumentary lymphatics lymph nodes pelvis pelvic neuropsych ext abd
    social family pulmonary cardiovascular cardiac gastrointestinal gi renal/gu neurological neurologic infectious disease hematology
    hematologic endocrine musculoskeletal psychiatric respiratory orders log outstanding
""") - {"line", "pain"}
UNITS = _words("""
    mg mcg g gm grams gram kg lb lbs ml cc l liter liters litre litres units unit u meq mmol mm cm mmhg bpm % mg/dl g/dl meq/l
    ml/hr cc/hr cc/h ml/h mg/hr mcg/kg/min mg/h hr h min po iv im sc sq pr sl daily bid tid qid qd qod qhs qam qpm prn q6h q8h q4h
    q12h q24h q2h q3h weekly inh tab tabs caps tablet tablets puffs puff patch x1 x2 x3 x4 twice once times time degrees f c
    percent amp amps bolus drip gtt doses dose packs bottle bottles bags bag a day per minute minutes hour in range
""")
