"""The words that rules look for, and those that they leave alone. Data: a change is a new version of the rule. Pure."""

from __future__ import annotations


def as_words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Left out where the content of options is compared.
FILLERS = as_words(
    "a an the of in on at to is are was be been and or with by for from as it its this that these those there which "
    "what who how seen shown present noted visible"
)
# An option that adds one of these says the opposite.
NEGATIONS = as_words("no not without absent absence neither nor never none negative free normal")
# “Only” is none of them: “only the left lung” names a place.
ABSOLUTE_TERMS = as_words(
    "always never invariably must cannot impossible exclusively solely absolutely definitely certainly undoubtedly "
    "every entirely"
)
# Where none of them is found, an option does not refer to others; “B & C” has no word between its letters.
OTHER_OPTIONS = as_words("above these those option options answer answers choice choices listed given and or b c d")
# Where an option has both of them, the order of its words says which is which.
OPPOSITES = (as_words("left right"), as_words("upper lower"), as_words("above below"), as_words("anterior posterior"))
# What a thing cannot be at once.
CONTRARIES = (
    (as_words("left"), as_words("right")),
    (as_words("upper apical apex apices"), as_words("middle mid lingula"), as_words("lower basal basilar base")),
    (
        as_words("small mild mildly"),
        as_words("moderate moderately"),
        as_words("large severe severely marked extensive"),
    ),
)
# An option of three words or more that has one is a sentence.
VERBS = as_words(
    "is are was were has have shows show lies suggests extends projects appears remains ends reach reaches lies lie"
)
# They turn a stem round. “Absent” does not: it asks for an absence in plain words.
NEGATIVE_WORDS = as_words("not except excluding least never cannot false incorrect untrue")
# What compares with an earlier exam: <NAME> stands for a part. Our own, measured by lists of sentences in
# tests/annotation/quality: comparisons.txt and clean_sentences.txt.
COMPARISON_PARTS = {
    "EXAM": r"exams?|examinations?|studies|study|radiographs?|films?|images?|imaging|x-rays?|scans?|cts?|views?",
    "FILM": r"radiographs?|films?|study|ct",
    "BEFORE": r"prior|previous(?:ly)?|earlier|before|baseline|yesterday|last (?:film|exam|study|time|night|week)",
    "DATE": r"\d+[/.]\d+|\d+(?:st|nd|rd|th)? <MONTH>|<MONTH> \d+|\w+ <PERIOD> (?:ago|earlier|before)|yesterday|<DAY>",
    "DONE": r"admission|surgery|removal|placement|(?:ex|in)tubation|biopsy",
    "MONTH": r"(?:jan|feb|mar|apr|may|june?|july?|aug|sep|oct|nov|dec)[a-z]*",
    "PERIOD": r"hours?|days?|weeks?|months?|years?",
    "DAY": r"(?:mon|tues|wednes|thurs|fri|satur|sun)day",
    "COMPLAINT": r"onset|dysp|breath|short|cough|fever|pain|fatigue|weak|symptom|hypox|ha?emop|wheez|infection|angina",
    # What is said of a person, and what is called so.
    "PERSON": r"(?! (?:(?:chest|acute|mild|severe|\w+ing) )?<COMPLAINT>)(?! (?:patient|york|bone|(?:left )?sup|duct))",
    "OFTEN": r"(?:(?:now|since|also|all|not|both|further|again|almost|\w+ly) ){0,3}",
    "TURNED": r"(?:in|de)creased|cleared|changed|(?:dis)?appeared|(?:re-?)?expanded|<TURNED2>|<TURNED3>",
    "TURNED2": r"resolved|improved|worsened|(?:pro|re)gressed|grown|enlarged|shrunk|diminished|developed|spread",
    "TURNED3": r"vanished|re-?accumulated|recurred|returned|migrated|moved|doubled|subsided|become|<TURNED4>",
    "TURNED4": r"normali[sz]ed|receded|waned|faded|evolved|come down|gone up|abated|dissipated|lessened",
    "THINGS": r" (?:a |an )?(?:\w+ )?(?:<COMPLAINT>|borders|calcified|fragments|walls|markings|surgery|margins)",
    "DEVICE": r"tubes?|catheters?|lines?|drains?|leads?|wires?|pacemakers?|picc|cannulas?|balloon|device|port",
    "HANDLED": r"removed|withdrawn|advanced|retracted|repositioned|exchanged|pulled back|taken out|placed|inserted",
    "FLUID": r"effusions?|pneumothorax|fluid|air",
    "WORSE": r"worse|better|larger|smaller|bigger|denser|wider|higher|lower|less|more",
    "SIDE": r"left|right|side|bases?|apex|apices|view|one|lobes?|contralateral|other",
    "SHOWN": r"seen|noted|visible|visuali[sz]ed|identified|demonstrated|described|evident|present|apparent|<SHOWN2>",
    "SHOWN2": r"shown|reported|placed|known|there|appreciated|in place|in situ",
    "OPACITY": r"opacity|opacities|consolidation|infiltrates?|o?edema|nodule|atelectasis|findings?|<FLUID>|<DEVICE>",
    "MARKED": r"significant|relevant|appreciable|interval|substantial|major|definite|obvious|notable|real",
    "GROWING": r"worsening|improving|(?:in|de)creasing|enlarging|evolving|developing|resolving|growing|<GROWING2>",
    "GROWING2": r"diminishing|receding|waning|fading|abating|lessening",
    "AGAIN": r"re-?demonstrat|re-?identif|revisuali[sz]",
    "REST": r"of|the|uncertain|unclear|likely|possible|open|visible|sharp|within|most|an?|to|preserved",
}
# Lines of words, one of which is in every match, and indented under them what is looked for.
COMPARISONS = r"""
prior previous earlier last old
    (?:prior|previous|earlier|last|old)(?: [\w-]+)? <EXAM>
    (?:prior|previous|earlier) (?:\w+ )?<OPACITY>
prior previous earlier
    (?:from|to|than|since|on|with|in|as) (?:the |a )?(?:prior|previous|earlier)(?: one| day| and)?(?=\W*$|[.,;:)]| the)
priors comparison interim meantime meanwhile overnight unchanged unaltered yesterday's yesterday’s waxing
    priors|interim|meantime|meanwhile|overnight|unchanged|unaltered|yesterday['’]s|waxing
    comparison <EXAM>
before previously yesterday
    (?:than|as|like) (?:on |in |was )?(?:the )?(?:before|previously|yesterday)
    previously <SHOWN>|<SHOWN> previously|(?:was|were) previously
compared comparison relative contrast
    (?:compared|comparison|relative|in contrast)(?: is made)? (?:with|to) (?:[\w-]+ ){0,6}?(?:<BEFORE>|<DATE>|<FILM>)
since
    since (?:the )?(?:last|prior|previous|earlier|<DONE>|<DATE>|<EXAM>|then)
interval
    (?<!pr )(?<!qt )(?<!rr )(?<!an )interval(?:ly)?(?! between| is| was| of \d)
again
    once again|again,? <SHOWN>|again (?:is|are|shows?)|(?:is|are|was|were) again
    (?<!.)again,
new newly
    newly(?! (?:married|diagnosed|admitted))
    new(?!-)<PERSON>
stable static
    (?:is|are) static|static appearance
    (?<!ally )stable(?! chest)<PERSON>(?! (?:without|after|and a))
change changes changed
    (?:little|(?:no|without)(?: \w+ly| any)?(?: <MARKED>)?) change(?! of the (?:spine|bone))
    changes? (?:from|since|between the|over time|in (?:the )?(?:size|position|extent|appearance))
    (?:has|have|had|what|which \w+) (?:has |have )?(?:not )?(?:\w+ly )?changed(?! of| in)|did not change
    how (?:has|have|did) (?:\w+ ){0,5}changed?|changed? (?:over time|since)
similar same different identical
    (?:similar|same|different|identical)(?: \w+){0,6} (?:to|as|from|than) (?:the |on |in |was )*<BEFORE>
    not significantly different|(?:a|of) similar appearance (?:of|to)
worsening improving increasing decreasing diminishing enlarging evolving developing resolving growing receding waning
fading abating lessening
    <GROWING>(?! (?:toward|from|with|child|and o?ed|ly))<PERSON>
progressive persistent persist persists persisting persisted recurrent residual
    progressive(?! (?:massive|systemic|multifocal))<PERSON>
    persist(?:ent|s|ing|ed)?<PERSON>
    recurrent(?! laryngeal)<PERSON>|residual(?! volume)<PERSON>
worsened improved resolved progressed
    (?:worsened|improved|resolved|progressed)(?! by| inspiration would)
improvement regression progression recurrence reaccumulation re-accumulation reexpansion re-expansion persistence
    improvement|regression|progression|recurrence|re-?accumulation|re-?expansion|persistence
resolution clearing
    (?<!spatial )resolution(?= of)(?! of the (?:image|film|study))
    (?<!throat )clearing(?= of|\W*$)
redemonstrated redemonstration re-demonstrated re-demonstration reidentified re-identified revisualized revisualised
    <AGAIN>\w+
remains remain remained
    remain(?:s|ed)? (?!<REST>\b)[\w-]+|(?:pneumothorax|effusion|opacity) remains(?= at| in|\W*$)
still longer gone back continue continues continued
    still (?:<SHOWN>|enlarged|in good)|no longer|(?:is|are|almost|has) gone|back to (?:normal|baseline)
    continue[sd]? to (?:improve|increase|decrease|worsen|clear|grow|resolve|progress)
been
    there (?:has|have) been(?! (?:a |an )?(?:trauma|fall|injury))|been extubated
    <DEVICE>(?: \w+){0,5} (?:has|have) <OFTEN>been <HANDLED>
    <FLUID> (?:has|have) <OFTEN>been (?:drained|evacuated|aspirated|tapped)
removal withdrawal
    (?:after|following|status post)(?: the)? (?:removal|withdrawal) of (?:the |a )?(?:\w+ ){0,2}<DEVICE>
increased decreased cleared changed appeared disappeared expanded reexpanded re-expanded resolved improved worsened
progressed regressed grown enlarged shrunk diminished developed spread vanished reaccumulated re-accumulated recurred
returned migrated moved doubled subsided normalised normalized become receded waned faded evolved come gone abated
dissipated lessened
    (?:has|have|had) <OFTEN><TURNED>(?!<THINGS>)
increased decreased enlarged diminished doubled
    (?<!is )(?<!are )(?:(?:in|de)creased|enlarged|diminished|doubled) in (?:size|extent)(?= since|\W*$| over)
    (?:(?:in|de)creased|enlarged|diminished) (?:since|over)
today
    <WORSE>(?: \w+){0,2} today
now
    <WORSE>(?: \w+){0,2} now(?=\W*$)
slightly somewhat mildly minimally much
    (?:slightly|somewhat|mildly|minimally|much) (?:larger|smaller|denser|less|more)(?: conspicuous)?(?=\W*$|,)
worse better
    (?:is|are|become|looks?|appears?) (?:\w+ly |much |somewhat )?(?:worse|better)(?= aerated| expanded| today|\W*$|,)
    better (?:aerated|expanded)
than
    than (?:[\w-]+ ){0,5}?(?:<BEFORE>|last)(?! (?:\w+ ){0,2}<SIDE>)|than (?:it|they) (?:was|were)
used past admission
    used to be <WORSE>|over the (?:past|last) (?:\w+ )?<PERIOD>|(?:there|seen|present|visible) on admission
stability stationary
    stability (?:of|over)|is stationary
now
    (?:is|are) now (?!febrile|in pain|in distress|short|most|asked|the )\w+
    now (?:<SHOWN>|involves?|lies|ends|shows?|measures|appears?|terminates)
serial sequential subsequent later follow-up
    (?:serial|sequential|subsequent|later) (?:\w+ )?<EXAM>
    (?:on|at) (?:the )?follow-up|follow-up(?: \w+){0,3} (?:shows?|showed|demonstrates?|reveals?)
exams studies examinations dates
    between (?:the|these) (?:two |both )?(?:exams|studies|examinations|dates)
"""
# Words that every question of the chest may hold: in the stem they name no key.
COMMON_WORDS = as_words(
    "chest radiograph radiographs x-ray image images exam view views frontal lateral lung lungs finding findings "
    "patient left right bilateral upper lower middle side zone lobe no not yes both normal absent within most "
    "likely one part parts zone zones region base side sides field fields"
)
# A stem that asks for what is not there, and one that asks for what is.
ASKS_FOR_ABSENCE = (
    r"\b(?:absent|missing|lacking|(?:is|are|do|does|was|were|can) not|not (?:\w+ )?(?:present|seen|visible|shown|there)"
    r"|(?<!the )absence|excluded|ruled out|except|excepting|(?:is|are|does|do|was|were)n['’]t|cannot be|free of)\b"
)
ASKS_FOR_PRESENCE = (
    r"\b(?:which|what)\b[^?]*\b(?:is|are) (?:\w+ )?(?:present|seen|visible|shown|demonstrated|identified|evident|found"
    r"|noted|depicted|apparent|detected)\b|what do(?:es)? (?:the|these|this) [\w -]+ (?:show|demonstrate|reveal)"
)
# A capital letter from A to D after one of these, or before one of those, names no option.
LETTER_NAMES = as_words(
    "vitamin hepatitis kerley type group lobe stage grade class child-pugh stanford influenza segment factor protein "
    "score zone haemophilia hemophilia killip"
)
LETTER_THINGS = as_words("line lines cell cells spine dimer wave waves streptococcus streptococci ring")
# After an “A” that begins a sentence, they say that it is an option and no article.
LETTER_VERBS = as_words(
    "is was are were and or fits fit would could cannot does has shows names describes matches because since alone "
    "states contradicts implies but not remains seems"
)
# An option by its place. Letters are drawn anew, so that the place changes, too.
OPTION_BY_PLACE = (
    r"\b(?:first|second|third|fourth|last|final|top|bottom|1st|2nd|3rd|4th) (?:two |three )?(?:option|answer|choice"
    r"|alternative|distractor|statement)s?\b"
    r"|\b(?:option|answer|choice|alternative)s? (?:no\.? ?|number |#)?(?:one|two|three|four|[1-4]|i{1,3}|iv)\b"
    r"|\bthe (?:first|second|third|fourth|last)(?: two| three| one| of these)? (?:is|are|fits?|would|does|do|can"
    r"|needs?|lacks?)\b"
    r"|\b(?:option|answer|choice|letter)s?\W{0,3}(?:is\W{0,3})?(?:[b-d]|a(?! [a-z]))\b|\([a-d]\)"
    r"|(?:^|[.;:?] )[a-d]\) |(?:\bnumber |#)[1-4] (?:is|fits|would)\b"
)
# What says that somebody read the report.
REPORT_MENTIONS = (
    r"\b(?:the|this|its|radiology|written|official|original|accompanying|given|provided|per|by|in) (?:radiolog\w+ "
    r"|radiograph\w* |written |imaging |chest )?reports?\b|\baccording to the (?:text|findings|impression|radiologist)"
    r"|\bas (?:reported|documented|dictated)\b|\b(?:noted|stated|described|mentioned|listed|documented|given) in the "
    r"(?:findings?|impression|text|report)\b|\b(?:impression|findings) (?:section|states?|says?|mentions?|reads?"
    r"|describes?|lists?)\b"
    r"|\bthe (?:given|provided|supplied|listed) (?:text|findings|report)|\bthe text (?:states|says|mentions)"
    r"|\b(?:per|in) the (?:impression|dictation)\b"
    r"|\b(?:the|our) (?:reporting|interpreting|dictating) (?:radiologist|physician|doctor|clinician)\b"
    r"|\bradiologist(?:['’]s)? (?:report|note|state|describe|impression|mention|said|found|saw|noted)"
    r"|\b(?:finding (?:no\.? ?|number |#)|bullet )\d+\b|\b(?:is|are|was|were|been) reported(?! by the patient)\b"
)
# Where none of them is found, no report is mentioned.
REPORT_WORDS = as_words(
    "report reports reported documented dictated text findings impression radiologist radiologist's radiologist’s "
    "finding bullet dictation reporting interpreting dictating"
)
# Names of places: an option that says no more than where does not state a finding.
PLACE_WORDS = as_words(
    "hilum hila hilar apex apices apical base bases basal basilar lingula lobes mediastinum mediastinal carina trachea "
    "atrium ventricle vena cava superior inferior diaphragm hemidiaphragm costophrenic angle retrocardiac fissure "
    "minor major rib ribs clavicle spine heart aorta perihilar peripheral central above below behind over projecting"
)
# Phrases that say the same, the usual one first. In the manner of RadLex (radlex.org), of whose names and synonyms most
# are; others of the mentions of CheXpert's labeler (https://github.com/stanfordmlgroup/chexpert-labeler) and of the
# glossary of the Fleischner Society (Hansell et al., Radiology 246 (2008) 697-722).
SYNONYMS = """
pleural effusion|pleural fluid|hydrothorax|fluid in the pleural space|fluid in pleural space|pleural collection
pleural effusion|fluid in the pleural cavity
pneumothorax|air within the pleural space|air in the pleural cavity
pneumothorax|air in the pleural space|air in pleural space|pleural air|intrapleural air|collapsed lung with pleural air
cardiomegaly|enlarged heart|heart enlargement|cardiac enlargement|enlarged cardiac silhouette|enlarged heart size
cardiomegaly|large heart|big heart|heart is large
cardiomegaly|enlargement of the heart|enlargement of the cardiac silhouette|heart is enlarged|enlarged cardiac shadow
pulmonary edema|lung edema|pulmonary oedema|edema of the lungs|fluid overload of the lungs|wet lungs
edema|oedema
consolidation|airspace opacification|air space opacification|airspace consolidation|air space consolidation
consolidation|airspace disease|air space disease|alveolar consolidation|airspace opacity|air space opacity
atelectasis|volume loss|loss of volume|lung collapse|collapse of the lung|pulmonary collapse|atelectatic change
atelectasis|collapsed lobe|collapsed lung
opacity|density|opacification|shadowing
infiltrate|infiltration
nodule|pulmonary nodule|lung nodule|coin lesion|nodular opacity
mass|lung mass|pulmonary mass|space-occupying lesion
emphysema|emphysematous change|emphysematous changes
hyperinflation|overinflation|hyperexpansion|hyperinflated lungs|hyperexpanded lungs|overexpanded lungs
hyperinflation|overinflated lungs
low lung volume|underinflation|hypoinflation|poor inspiration|poor inspiratory effort|shallow inspiration
subcutaneous emphysema|surgical emphysema|soft tissue gas|subcutaneous gas|subcutaneous air
pneumoperitoneum|free air under the diaphragm|free intraperitoneal air|subdiaphragmatic free air|free abdominal air
pneumoperitoneum|free air beneath the diaphragm|free air below the diaphragm|intraperitoneal free air
pneumomediastinum|mediastinal emphysema|mediastinal air|air in the mediastinum|mediastinal gas
fracture|broken bone|bony break|break of the bone
rib fracture|costal fracture|broken rib|fractured rib|fracture of a rib|fracture of the rib
scoliosis|spinal curvature|lateral curvature of the spine|curved spine
hiatal hernia|hiatus hernia|gastric hernia|intrathoracic stomach
pleural thickening|thickened pleura|thickening of the pleura|pachypleuritis
pulmonary fibrosis|lung fibrosis|fibrosis of the lung|pulmonary scarring|lung scarring|scarring of the lung
widened mediastinum|mediastinal widening|widening of the mediastinum|broad mediastinum
vertebral fracture|collapsed vertebra|vertebral collapse|broken vertebra
vertebra|vertebrae
hilar enlargement|enlarged hilum|prominent hilum|hilar prominence|enlarged hila|prominent hila
lymphadenopathy|adenopathy|enlarged lymph node|lymph node enlargement|swollen lymph node|prominent lymph node
vascular congestion|pulmonary congestion|pulmonary vascular congestion|vascular prominence|pulmonary venous congestion
congestive heart failure|heart failure|cardiac failure|cardiac decompensation|chf
endotracheal tube|et tube|ett|tracheal tube|breathing tube
nasogastric tube|ng tube|enteric tube|gastric tube|feeding tube
chest tube|thoracostomy tube|pleural drain|chest drain|intercostal drain|pleural catheter
central venous catheter|central line|central venous line|cvc|central catheter
pacemaker|cardiac pacemaker|pacing device|cardiac pacing device
granuloma|calcified granuloma|calcified nodule
raised hemidiaphragm|elevated hemidiaphragm|elevation of the hemidiaphragm|high hemidiaphragm|raised diaphragm
calcified aorta|aortic calcification|aortic atherosclerosis|calcification of the aorta|atherosclerotic aorta
tortuous aorta|aortic tortuosity|unfolded aorta|aortic unfolding
metastasis|secondary tumor|secondary deposit|metastatic deposit|metastatic lesion
cancer|carcinoma|malignancy|malignant tumor|malignant tumour|malignant neoplasm
tumor|tumour|neoplasm
pneumonia|lung infection|pulmonary infection|infection of the lung|chest infection|infective consolidation
tuberculosis|tb
cavity|cavitation|cavitary lesion|cavitating lesion|cavern
bronchiectasis|dilated bronchi|bronchial dilatation|bronchial dilation|ectatic bronchi|dilatation of the bronchi
bulla|bullous change|air cyst|bullae
kyphosis|hunchback|spinal kyphosis
osteopenia|bone demineralization|demineralised bone|demineralized bone|reduced bone density
left|left-sided|leftsided|left-side
right|right-sided|rightsided|right-side
bilateral|both-sided|on both sides|both sides|bilaterally
small|tiny|minimal|minor|trace|slight
large|big|massive|sizeable
"""
# Their first letters.
MONTHS = as_words("jan feb mar apr may jun jul aug sep oct nov dec")
# Words in capitals that name no person.
ACRONYMS = as_words(
    "AICD ARDS BIPAP BOOP CABG CADI COPD COVID CPAP CTPA DICOM ECMO EVAR FINDINGS GERD HFPEF IABP IMPRESSION LVAD "
    "NSIP PACS PEEP PICC PJP PORT RLL SARS SPECT TAVI TAVR TEVAR TIPS VATS BEST CORRECT EXCEPT FALSE INCORRECT "
    "LEAST LEFT MOST NEVER NONE ONLY RIGHT TRUE LATERAL UNKNOWN ONE NOT MUST CHEST VIEW VIEWS ABSENT PRESENT BOTH "
    "PORTABLE SUPINE UPRIGHT ERECT FRONTAL NORMAL ABNORMAL ACUTE CHRONIC HIGH WHICH WHAT WITHOUT ALWAYS MRSA HAART "
    "STEMI NSTEMI CTEPH NSCLC SCLC HRCT PAVM CREST ANCA"
)
# Capitalised words that name no patient: eponyms, and words of headings.
NO_NAMES = as_words(
    "A An The This These Which What Left Right Bilateral Upper Lower Middle Lobe Lung Lungs Pleural Effusion Chest "
    "Heart Radiograph View Views Kerley Swan Ganz Dobhoff Hampton Westermark Chilaiditi Pancoast Ghon Bochdalek "
    "Morgagni Foley Port Cath Hickman Broviac Carpentier Edwards Starr Jude Impella Hodgkin Wegener Goodpasture "
    "Caplan Langerhans Marfan Kartagener Hamman Rich Blalock Taussig Fallot Ebstein Gram Luer Lock Cobb Schmorl "
    "Harrington Bankart Hill Sachs No Finding Normal Recorded Medical School Hospital University Clinic Infirmary "
    "General Monod Riedel Fleischner Golden Naclerio Bence Jones Down Turner Sign Signs Syndrome Disease Tube "
    "Catheter Line Lines Fibrosis Antitrypsin Sarcoma Lymphoma Tumor Tumour Pneumonia Atelectasis Consolidation "
    "Pneumothorax Edema Oedema Opacity Nodule Mass Cardiomegaly Fracture Emphysema Male Female Man Woman Impression "
    "Findings Birt Hogg Dube Churg Strauss"
)
# Of these, surnames that many people have.
SURNAMES = as_words("Down Edwards Golden Hill Jones Rich Turner")
